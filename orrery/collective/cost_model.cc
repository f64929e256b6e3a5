#include "orrery/collective/cost_model.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "orrery/collective/tuner.h"

namespace orrery::collective {

namespace {

using network::GpuId;

constexpr double kPsPerMicrosecond = 1e6;

int MostOnAnIsland(std::span<const GpuId> gpu_of_rank, int gpus_of_island) {
  std::map<GpuId, int> ranks_of_island;
  int most = 0;
  for (const GpuId gpu : gpu_of_rank) {
    most = std::max(most, ++ranks_of_island[gpu / static_cast<GpuId>(gpus_of_island)]);
  }
  return most;
}

Fabric Limited(Fabric fabric, const LinkLimits& limits) {
  fabric.gpu_link.bytes_per_second *= limits.link_share;
  fabric.physical_link.bytes_per_second *= limits.link_share;
  fabric.nic.bytes_per_second *= limits.network_share;
  if (limits.host_link.bytes_per_second > 0 && fabric.nics > 0) {
    const double entering = limits.host_link.bytes_per_second * fabric.ranks_per_node;
    fabric.nic.bytes_per_second = std::min(fabric.nic.bytes_per_second, entering / fabric.nics);
  }
  return fabric;
}

// The shares of the links of a cluster's topology that an algorithm reaches.
WireShares SharesOf(const AlgorithmCosts& costs, const Fabric& fabric,
                    const CostSettings& settings) {
  const double whole = settings.cluster->island.per_gpu.bytes_per_second;
  return {.link = LinkRate(fabric, costs.link_share, settings.constants) / whole,
          .network = costs.network_share};
}

HopLatencies LatenciesOf(const AlgorithmCosts& costs) {
  return {.start_ps = std::llround(costs.start * kPsPerMicrosecond),
          .intra_ps = std::llround(costs.hop * kPsPerMicrosecond),
          .inter_ps = std::llround(costs.network_hop * kPsPerMicrosecond)};
}

}  // namespace

Result<Fabric> FabricMemo::Find(std::span<const GpuId> gpu_of_rank) {
  const int ranks = static_cast<int>(gpu_of_rank.size());
  const int most = MostOnAnIsland(gpu_of_rank, std::max(1, cluster_.island.gpus));
  const auto found = fabric_of_ranks_.find({ranks, most});
  if (found != fabric_of_ranks_.end()) {
    return found->second;
  }
  ORRERY_TRY(const Fabric fabric, FabricOf(cluster_, {.gpus = ranks, .gpus_per_node = most}));
  return fabric_of_ranks_.emplace(std::pair(ranks, most), fabric).first->second;
}

Result<double> ClosedFormCost::Seconds(const Request& request, std::span<const GpuId> gpu_of_rank) {
  ORRERY_TRY(const Fabric fabric, fabrics_.Find(gpu_of_rank));
  ORRERY_TRY(const Prediction prediction,
             Predict(fabric, request, settings_.nccl, *settings_.tables, settings_.constants));
  return prediction.seconds;
}

Result<double> ClosedFormCost::Seconds(const Request& request, std::span<const GpuId> gpu_of_rank,
                                       const LinkLimits& limits) {
  ORRERY_TRY(Fabric fabric, fabrics_.Find(gpu_of_rank));
  fabric.has_nvls = fabric.has_nvls && limits.reduces_in_switch;
  ORRERY_TRY(const Tuning tuning, Tune(fabric, request, settings_.nccl, *settings_.tables));
  const AlgorithmAndProtocol candidate{tuning.choice().algorithm, tuning.choice().protocol};
  return ClosedFormSeconds(Limited(fabric, limits), request, candidate, *settings_.tables,
                           settings_.constants);
}

Result<KernelShape> ClosedFormCost::ShapeOf(const Request& request,
                                            std::span<const GpuId> gpu_of_rank) {
  ORRERY_TRY(const Fabric fabric, fabrics_.Find(gpu_of_rank));
  ORRERY_TRY(const Tuning tuning, Tune(fabric, request, settings_.nccl, *settings_.tables));
  const Algorithm algorithm = tuning.choice().algorithm;
  const Protocol protocol = tuning.choice().protocol;
  return KernelShape{.algorithm = algorithm,
                     .protocol = protocol,
                     .used = ChannelsFor(fabric, request, algorithm, protocol, settings_.nccl),
                     .step = StepPayload(protocol, settings_.nccl)};
}

Result<FlowLevelTime> FlowLevelCost::Time(const Request& request,
                                          std::span<const GpuId> gpu_of_rank) {
  ORRERY_TRY(const Fabric fabric, fabrics_.Find(gpu_of_rank));
  ORRERY_TRY(const Tuning tuning, Tune(fabric, request, settings_.nccl, *settings_.tables));
  const AlgorithmAndProtocol candidate{tuning.choice().algorithm, tuning.choice().protocol};
  const AlgorithmCosts costs = CostsOf(candidate, request.size, settings_.constants);
  ORRERY_TRY(
      const network::Placement placement,
      network::Placement::Create(network_.topology(), {gpu_of_rank.begin(), gpu_of_rank.end()}));
  FlowLevelOptions options = options_;
  options.shares = SharesOf(costs, fabric, settings_);
  options.latencies = LatenciesOf(costs);
  return FlowLevelTimeOf(request, candidate.algorithm, placement, network_, options);
}

}  // namespace orrery::collective
