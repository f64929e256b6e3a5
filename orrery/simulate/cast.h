#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "orrery/network/topology.h"
#include "orrery/simulate/link_class.h"
#include "orrery/workload/ensemble.h"

namespace orrery::simulate {

using PlayerId = std::uint32_t;
using CastGroupId = std::uint32_t;

/// Ranks that must behave alike, simulated once; or one rank.
struct Player {
  workload::ProgramId program = 0;
  double slowness = 1;
  std::uint32_t multiplicity = 1;  // ranks it stands for
  workload::Rank rank = 0;         // one of them: the lowest

  bool operator==(const Player&) const = default;
};

/// Real groups that must behave alike, seen from the players. Where members have one group on
/// several slots, all of them on the same ones, it counts once for each slot.
struct CastGroup {
  workload::GroupId group = 0;   // one of the real groups
  std::uint32_t num_ranks = 0;   // of that one
  std::uint32_t num_seats = 0;   // places of players in it; equal ranks share one
  std::uint64_t link_class = 0;  // groups with the same one have the same costs

  bool operator==(const CastGroup&) const = default;
};

/// Who plays: players, and the groups they talk in. Refers to the programs and to the ensemble,
/// which must outlive it.
struct Cast {
  std::vector<const workload::Program*> programs;
  std::uint32_t num_slots = 0;
  const workload::Ensemble* ensemble = nullptr;  // of the groups; none without groups
  std::vector<Player> players;
  std::vector<PlayerId> player_of_rank;
  std::vector<CastGroupId> group_of_slot;  // player · num_slots + slot; kNoGroup: it has none
  std::vector<CastGroup> groups;

  [[nodiscard]] const workload::Program& ProgramOf(PlayerId player) const {
    return *programs[players[player].program];
  }

  [[nodiscard]] CastGroupId GroupOf(PlayerId player, std::uint32_t slot) const {
    return slot < num_slots ? group_of_slot[static_cast<std::size_t>(player) * num_slots + slot]
                            : workload::kNoGroup;
  }

  /// Some player stands for several ranks.
  [[nodiscard]] bool IsFolded() const { return players.size() < player_of_rank.size(); }

  /// The GPUs of the real group that stands for the others, in its order.
  [[nodiscard]] std::vector<network::GpuId> GpusOf(CastGroupId group) const;
};

/// Folds an ensemble exactly: ranks form classes by refinement. It starts with (program, slowness)
/// and splits classes whose members differ, on any slot, in the classes and slots of the other
/// members of their group or in its link class, until nothing changes. Two ranks that exchange
/// messages as a pair never share a class, because the lower and the higher one of a pair differ.
///
/// Times are the least solution of equations that stay the same when ranks of a class change
/// places, so equal ranks have equal times. O(ranks · slots) a round; as many rounds as a
/// difference takes to spread.
[[nodiscard]] Cast Fold(const workload::Ensemble& ensemble, const LinkClass& link_class);

/// Every rank is a player.
[[nodiscard]] Cast Unfolded(const workload::Ensemble& ensemble, const LinkClass& link_class);

/// One rank alone, which has no groups.
[[nodiscard]] Cast Solo(const workload::Program& program);

}  // namespace orrery::simulate
