#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "orrery/base/error.h"
#include "orrery/collective/cost_model.h"
#include "orrery/collective/machine_models.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/network/group_limits.h"
#include "orrery/workload/job/job.h"

namespace orrery::simulate {

/// Times of communication from the calibrated closed form of the job's cluster, slowed down by what
/// the framework is known to lose. Groups inside an island and groups over several ask the
/// constants of machines of that size; groups whose members hold them back take longer. The job
/// must outlive it.
class ClusterTimes : public CommunicationTimes {
 public:
  /// The constants are those of `models`, or the shipped ones.
  [[nodiscard]] static Result<std::unique_ptr<ClusterTimes>> Of(
      const workload::Job& job, GroupLimits limits = {},
      const collective::MachineModels* models = nullptr);

  [[nodiscard]] Result<std::int64_t> DurationPs(const workload::Communications::Row& communication,
                                                std::span<const network::GpuId> gpus) override;

  [[nodiscard]] Result<CommunicationTask> KernelOf(
      const workload::Communications::Row& communication,
      std::span<const network::GpuId> gpus) override;

  [[nodiscard]] Result<collective::LinkDemand> DemandOf(
      const workload::Communications::Row& communication,
      std::span<const network::GpuId> gpus) override;

  ClusterTimes(const workload::Job& job, GroupLimits limits, const collective::CostSettings& inside,
               const collective::CostSettings& between);

 private:
  [[nodiscard]] bool IsInsideIsland(std::span<const network::GpuId> gpus) const;

  double rate_ = 1;
  std::uint32_t island_ = 1;
  GroupLimits limits_;
  collective::ClosedFormCost inside_;
  collective::ClosedFormCost between_;
};

}  // namespace orrery::simulate
