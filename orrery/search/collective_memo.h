#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include <tsl/robin_map.h>

#include "orrery/base/error.h"
#include "orrery/network/topology.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/simulate/network/group_times.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/generate/layer_op.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::search {

/// A process group: its GPUs, and what groups that communicate equally fast have in common.
struct PlacedGroup {
  std::vector<network::GpuId> gpus;
  std::uint64_t link_class = 0;
};

/// Remembers what communication takes on a cluster, as plans ask for the same again and again.
class CollectiveMemo {
 public:
  /// `machine` must outlive it; its plan does not matter.
  [[nodiscard]] static Result<std::unique_ptr<CollectiveMemo>> Of(const workload::Job& machine);

  explicit CollectiveMemo(const workload::Job& machine,
                          std::unique_ptr<simulate::ClusterTimes> times);

  [[nodiscard]] PlacedGroup Place(std::span<const workload::Rank> ranks) const;

  /// The group of the first rank of a stage on a role; valid until ForgetGroups forgets some.
  [[nodiscard]] const PlacedGroup& GroupOf(const workload::Plan& plan, workload::GroupRole role,
                                           int stage);

  /// Forgets groups where there are very many.
  void ForgetGroups();

  /// The time of the collective with no others on its links, in picoseconds.
  [[nodiscard]] std::int64_t DurationPs(const workload::Communication& communication,
                                        const PlacedGroup& group);

 private:
  struct Key {
    std::uint64_t link_class = 0;
    std::int64_t bytes = 0;
    std::uint32_t kind = 0;  // with element and pieces

    bool operator==(const Key&) const = default;
  };

  struct Hash {
    std::size_t operator()(const Key& key) const;
  };

  // All that the ranks of a group depend on.
  using GroupKey = std::array<std::int32_t, 11>;

  struct GroupHash {
    std::size_t operator()(const GroupKey& key) const;
  };

  simulate::IslandLinkClass link_class_;
  std::unique_ptr<simulate::ClusterTimes> times_;
  tsl::robin_map<Key, std::int64_t, Hash> duration_of_key_;
  std::unordered_map<GroupKey, PlacedGroup, GroupHash> group_of_key_;
};

}  // namespace orrery::search
