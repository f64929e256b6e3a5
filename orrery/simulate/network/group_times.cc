#include "orrery/simulate/network/group_times.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "orrery/base/collective_kind.h"
#include "orrery/base/error.h"
#include "orrery/base/units.h"
#include "orrery/collective/algorithm.h"
#include "orrery/collective/closed_form.h"
#include "orrery/collective/cost_model.h"
#include "orrery/collective/machine_models.h"
#include "orrery/collective/monotone_times.h"
#include "orrery/collective/request.h"
#include "orrery/network/topology.h"
#include "orrery/overlap/concurrent_kernels.h"
#include "orrery/simulate/engine/kernel_code.h"
#include "orrery/simulate/network/group_limits.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {
namespace {

constexpr double kPicoseconds = 1e12;

collective::CostSettings SettingsOf(const workload::Job& job, int gpus,
                                    const collective::MachineModels& models) {
  collective::CostSettings settings;
  settings.cluster = &job.cluster;
  const auto found = models.Find({.cluster = &job.cluster, .gpus = gpus});
  if (found.model == nullptr || !job.mechanisms.calibration) {
    return settings;
  }
  const bool is_on_nodes = gpus > job.cluster.island.gpus;
  const collective::FormRules& rules = is_on_nodes ? found.forms.over_nodes : found.forms.of_node;
  settings.constants = rules.constants;
  settings.nccl = rules.nccl;
  settings.tables = rules.tables;
  settings.of_node = found.forms.of_node;
  return settings;
}

collective::Request RequestOf(const workload::Communications::Row& communication) {
  return {communication.kind, Bytes{communication.bytes}, communication.element};
}

// The switch reads what a GPU gives and writes what it gets; nothing is added on the GPU.
overlap::Pattern PatternOf(CollectiveKind kind, const collective::KernelShape& shape) {
  if (shape.protocol == collective::Protocol::kLl) {
    return overlap::Pattern::kLowLatency;
  }
  if (shape.protocol == collective::Protocol::kLl128) {
    return overlap::Pattern::kLowLatency128;
  }
  return IsReduction(kind) && !collective::ReducesInSwitch(shape.algorithm)
             ? overlap::Pattern::kReduceCopy
             : overlap::Pattern::kCopy;
}

// The traffic of a GPU's memory for each byte that it sends: its own and the neighbour's part are
// read and one is written, or a part comes in, is read and is written. With Simple, three bytes; a
// switch reads and writes the buffer once.
double PayloadOf(const collective::Request& request, const collective::KernelShape& shape,
                 overlap::Pattern pattern, int ranks) {
  constexpr double kTrafficOfSentByte = 3;
  const auto size = static_cast<double>(request.size.count);
  if (collective::ReducesInSwitch(shape.algorithm)) {
    return size;
  }
  const double sent = size * collective::BusFactor(request.kind, ranks);
  return shape.protocol == collective::Protocol::kSimple
             ? sent * kTrafficOfSentByte / overlap::TrafficOfPayload(pattern)
             : sent;
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

Result<std::unique_ptr<ClusterTimes>> ClusterTimes::Of(const workload::Job& job, GroupLimits limits,
                                                       const collective::MachineModels* models) {
  const collective::MachineModels& known =
      models != nullptr ? *models : collective::MachineModels::Shipped();
  const collective::CostSettings inside =
      SettingsOf(job, std::min(job.gpus, job.cluster.island.gpus), known);
  const collective::CostSettings between = SettingsOf(job, job.gpus, known);
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
  const collective::Request request = RequestOf(communication);
  collective::ClosedFormCost& cost = IsInsideIsland(gpus) ? inside_ : between_;
  const collective::LinkLimits limits = limits_.Of(gpus);
  ORRERY_TRY(const double seconds, limits == collective::LinkLimits{}
                                       ? cost.Seconds(request, gpus)
                                       : cost.Seconds(request, gpus, limits));
  return std::llround(seconds / rate_ * kPicoseconds);
}

Result<CommunicationTask> ClusterTimes::KernelOf(const workload::Communications::Row& communication,
                                                 std::span<const network::GpuId> gpus) {
  ORRERY_TRY(const std::int64_t duration_ps, DurationPs(communication, gpus));
  if (duration_ps == 0 || communication.in_pieces != 0) {  // copy engines launch no kernel
    return CommunicationTask{};
  }
  const collective::Request request = RequestOf(communication);
  collective::ClosedFormCost& cost = IsInsideIsland(gpus) ? inside_ : between_;
  ORRERY_TRY(const collective::KernelShape shape, cost.ShapeOf(request, gpus));
  const overlap::Pattern pattern = PatternOf(request.kind, shape);
  const double payload = PayloadOf(request, shape, pattern, static_cast<int>(gpus.size()));
  return CommunicationTask{
      .blocks = static_cast<std::uint32_t>(shape.used.channels),
      .threads = static_cast<std::uint32_t>(shape.used.threads),
      .pattern = pattern,
      .payload_gbps = payload / (static_cast<double>(duration_ps) / kPicoseconds) / 1e9,
      .chunk_bytes = shape.step.count};
}

Result<collective::LinkDemand> ClusterTimes::DemandOf(
    const workload::Communications::Row& communication, std::span<const network::GpuId> gpus) {
  if (gpus.size() < 2 || communication.bytes == 0) {
    return collective::LinkDemand{};
  }
  collective::ClosedFormCost& cost = IsInsideIsland(gpus) ? inside_ : between_;
  ORRERY_TRY(collective::LinkDemand demand,
             cost.DemandOf(RequestOf(communication), gpus, limits_.Of(gpus)));
  // The time that a framework loses passes while links are idle.
  demand.link_share *= std::min(rate_, 1.0);
  demand.nic_share *= std::min(rate_, 1.0);
  return demand;
}

}  // namespace orrery::simulate
