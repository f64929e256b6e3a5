#include "orrery/simulate/group_times.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "orrery/collective/machine_models.h"
#include "orrery/collective/tuner_tables.h"

namespace orrery::simulate {
namespace {

constexpr double kPicoseconds = 1e12;

Result<collective::CostSettings> SettingsOf(const workload::Job& job, int gpus) {
  collective::CostSettings settings;
  settings.cluster = &job.cluster;
  const auto found =
      collective::MachineModels::Shipped().Find({.cluster = &job.cluster, .gpus = gpus});
  if (found.model == nullptr) {
    return settings;
  }
  settings.constants = found.model->constants;
  if (gpus > job.cluster.island.gpus) {
    ORRERY_TRY(settings.nccl, collective::ParseNcclSettings(found.model->assumed_settings));
  }
  ORRERY_TRY(settings.tables, collective::FindTunerTables(found.model->nccl_version));
  return settings;
}

}  // namespace

ClusterTimes::ClusterTimes(const workload::Job& job, GroupLimits limits,
                           const collective::CostSettings& inside,
                           const collective::CostSettings& between)
    : rate_(job.framework.communication_rate),
      island_(static_cast<std::uint32_t>(std::max(job.cluster.island.gpus, 1))),
      limits_(std::move(limits)),
      inside_(inside),
      between_(between) {}

Result<std::unique_ptr<ClusterTimes>> ClusterTimes::Of(const workload::Job& job,
                                                       GroupLimits limits) {
  ORRERY_TRY(const collective::CostSettings inside,
             SettingsOf(job, std::min(job.gpus, job.cluster.island.gpus)));
  ORRERY_TRY(const collective::CostSettings between, SettingsOf(job, job.gpus));
  return std::make_unique<ClusterTimes>(job, std::move(limits), inside, between);
}

bool ClusterTimes::IsInsideIsland(std::span<const network::GpuId> gpus) const {
  return std::ranges::all_of(gpus, [&](network::GpuId gpu) {
    return static_cast<std::uint32_t>(gpu) / island_ ==
           static_cast<std::uint32_t>(gpus.front()) / island_;
  });
}

Result<std::int64_t> ClusterTimes::DurationPs(const workload::Communications::Row& communication,
                                              std::span<const network::GpuId> gpus) {
  if (gpus.size() < 2 || communication.bytes == 0) {
    return 0;
  }
  const collective::Request request = {communication.kind, Bytes{communication.bytes},
                                       communication.element};
  collective::ClosedFormCost& cost = IsInsideIsland(gpus) ? inside_ : between_;
  const collective::LinkLimits limits = limits_.Of(gpus);
  ORRERY_TRY(const double seconds, limits == collective::LinkLimits{}
                                       ? cost.Seconds(request, gpus)
                                       : cost.Seconds(request, gpus, limits));
  return std::llround(seconds / rate_ * kPicoseconds);
}

}  // namespace orrery::simulate
