#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "orrery/network/topology.h"
#include "orrery/workload/ensemble.h"

namespace orrery::simulate {

/// Classifies the placement of groups by the cost of their communication.
class LinkClass {
 public:
  virtual ~LinkClass() = default;

  /// Returns a number that two groups share only if every communication takes the same time in
  /// both. Members are in the order of the group.
  [[nodiscard]] virtual std::uint64_t Of(std::span<const network::GpuId> gpus) const = 0;
};

/// Groups are alike when they have as many members on each island, islands in the order in which
/// the group meets them. An island is `gpus_per_island` GPUs that follow each other.
class IslandLinkClass : public LinkClass {
 public:
  explicit IslandLinkClass(std::uint32_t gpus_per_island);

  [[nodiscard]] std::uint64_t Of(std::span<const network::GpuId> gpus) const override;

 private:
  std::uint32_t gpus_per_island_;
};

using RankClassId = std::uint32_t;
using GroupClassId = std::uint32_t;

/// Ranks that behave identically and are simulated once; or one rank.
struct RankClass {
  workload::ProgramId program = 0;
  double slowness = 1;
  std::uint32_t multiplicity = 1;  // ranks it represents
  workload::Rank rank = 0;         // one of them: the lowest

  bool operator==(const RankClass&) const = default;
};

/// Process groups that behave identically, as seen from the rank classes. Where members have one
/// group on several roles, all of them on the same ones, it counts once for each role.
struct GroupClass {
  workload::GroupId group = 0;    // one of the real groups
  std::uint32_t num_ranks = 0;    // of that one
  std::uint32_t num_members = 0;  // places of classes in it; equal ranks share one
  std::uint64_t link_class = 0;   // groups with the same one have the same costs

  bool operator==(const GroupClass&) const = default;
};

/// The rank classes to simulate and the groups in which they communicate. Refers to the programs
/// and to the ensemble, which must outlive it.
struct RankClasses {
  std::vector<const workload::Program*> programs;
  std::uint32_t num_roles = 0;
  const workload::Ensemble* ensemble = nullptr;  // of the groups; none without groups
  std::vector<RankClass> classes;
  std::vector<RankClassId> class_of_rank;
  std::vector<GroupClassId> group_of_role;  // rank class · num_roles + role; kNoGroup: it has none
  std::vector<GroupClass> groups;

  [[nodiscard]] const workload::Program& ProgramOf(RankClassId rank_class) const {
    return *programs[classes[rank_class].program];
  }

  [[nodiscard]] GroupClassId GroupOf(RankClassId rank_class, std::uint32_t role) const {
    return role < num_roles ? group_of_role[static_cast<std::size_t>(rank_class) * num_roles + role]
                            : workload::kNoGroup;
  }

  /// Some rank class stands for several ranks.
  [[nodiscard]] bool IsFolded() const { return classes.size() < class_of_rank.size(); }

  /// The GPUs of the group that represents the class, in its order.
  [[nodiscard]] std::vector<network::GpuId> GpusOf(GroupClassId group) const;
};

/// Folds an ensemble exactly: ranks form classes by refinement. It starts with (program, slowness)
/// and splits classes whose members differ, on any role, in the classes and roles of the other
/// members of their group or in its link class, until nothing changes. Two ranks that exchange
/// messages as a pair never share a class, because the lower and the higher one of a pair differ.
///
/// `places` are what ranks share beside groups: each has a number by rank, and classes are also
/// split where ranks with the same number (on one NIC) are of different classes.
///
/// Times are the least solution of equations that stay the same when ranks of a class change
/// places, so equal ranks have equal times. O(ranks · roles) a round; as many rounds as a
/// difference takes to spread.
[[nodiscard]] RankClasses Fold(const workload::Ensemble& ensemble, const LinkClass& link_class,
                               std::span<const std::vector<std::uint32_t>> places = {});

/// Every rank is a class of its own.
[[nodiscard]] RankClasses Unfolded(const workload::Ensemble& ensemble, const LinkClass& link_class);

/// One rank alone, which has no groups.
[[nodiscard]] RankClasses SingleRank(const workload::Program& program);

}  // namespace orrery::simulate
