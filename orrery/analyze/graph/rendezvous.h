#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "orrery/analyze/graph/rank_part.h"
#include "orrery/analyze/run_view.h"

namespace orrery::analyze {

/// A rank's share in a rendezvous: from its start until what it sends and receives is through.
struct RendezvousMember {
  std::uint32_t place = 0;  // of the part
  NodeId start = kNoNode;
  NodeId end = kNoNode;
};

/// Matched collectives and messages of the step with their members (E7, E8).
struct Rendezvous {
  std::vector<std::uint32_t> instance;  // of MatchedCollectives
  std::vector<std::int64_t> time_ns;    // when the last member had come
  std::vector<std::uint32_t> first_member = {0};
  std::vector<RendezvousMember> members;
  GraphCounts counts;

  [[nodiscard]] std::size_t size() const { return instance.size(); }

  [[nodiscard]] std::span<const RendezvousMember> MembersOf(std::size_t rendezvous) const {
    return std::span(members).subspan(first_member[rendezvous],
                                      first_member[rendezvous + 1] - first_member[rendezvous]);
  }
};

/// Notes which nodes belong to each collective of the rank.
void IndexCollectives(RankPart& part);

/// Finds the rendezvous among the nodes of all parts (in order of rank), and marks the ends they
/// explain. A member that ended before the last one came (a buffered message) keeps its own work.
/// `place_of_rank` says where the part of a rank of the run is.
[[nodiscard]] Rendezvous FindRendezvous(const RunView& run, std::vector<RankPart>& parts,
                                        const std::vector<std::uint32_t>& place_of_rank);

}  // namespace orrery::analyze
