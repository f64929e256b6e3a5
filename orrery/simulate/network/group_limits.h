#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/collective/cost_model.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/workload/job/job.h"

namespace orrery::simulate {

/// A NIC that carries nothing. Nodes and their NICs count from 0.
struct FailedNic {
  std::uint32_t node = 0;
  std::uint32_t nic = 0;

  auto operator<=>(const FailedNic&) const = default;
};

/// A node whose NICs carry a share of what they should.
struct SlowNode {
  std::uint32_t node = 0;
  double share = 1;
};

/// Faults in the network of a job.
struct NetworkFaults {
  std::vector<FailedNic> failed_nics = {};
  std::vector<SlowNode> slow_nodes = {};

  [[nodiscard]] bool empty() const { return failed_nics.empty() && slow_nodes.empty(); }
};

/// Limits of groups: GPUs with slower links than the job's usual one, and nodes with faults. Rank r
/// of the job is on GPU r.
class GroupLimits {
 public:
  /// No limits.
  GroupLimits() = default;

  /// Fails for faults that cannot be, and where islands must talk and one cannot.
  [[nodiscard]] static Result<GroupLimits> Of(const workload::Job& machine,
                                              const NetworkFaults& faults);

  /// No group is limited.
  [[nodiscard]] bool empty() const { return share_of_island_.empty() && slow_gpus_.empty(); }

  /// NICs count only where a group has members on several islands.
  [[nodiscard]] collective::LinkLimits Of(std::span<const network::GpuId> gpus) const;

 private:
  struct SlowGpus {
    network::GpuId first = 0;
    network::GpuId last = 0;
    collective::LinkLimits limits = {};
  };

  void AddSlowGpus(const workload::Job& machine);
  void AddShares(const workload::Job& machine, const std::vector<double>& share_of_node);
  [[nodiscard]] Status CheckIslands(const workload::Job& machine) const;
  [[nodiscard]] const collective::LinkLimits* LimitsOf(network::GpuId gpu) const;

  std::uint32_t island_ = 1;
  std::vector<double> share_of_island_;  // of NICs; empty: all work
  std::vector<SlowGpus> slow_gpus_;      // ascending
};

/// Separates groups with equal placement and different limits.
class LimitedLinkClass : public LinkClass {
 public:
  /// Both must outlive it.
  LimitedLinkClass(const LinkClass& placement, const GroupLimits& limits)
      : placement_(placement), limits_(limits) {}

  [[nodiscard]] std::uint64_t Of(std::span<const network::GpuId> gpus) const override;

 private:
  const LinkClass& placement_;
  const GroupLimits& limits_;
};

}  // namespace orrery::simulate
