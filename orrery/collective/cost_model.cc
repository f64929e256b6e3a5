#include "orrery/collective/cost_model.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "orrery/base/check.h"
#include "orrery/base/error.h"
#include "orrery/base/units.h"
#include "orrery/collective/algorithm.h"
#include "orrery/collective/closed_form.h"
#include "orrery/collective/fabric.h"
#include "orrery/collective/flow/flow_plan.h"
#include "orrery/collective/nccl/tuner.h"
#include "orrery/collective/request.h"
#include "orrery/network/flow_simulation.h"
#include "orrery/network/routing.h"
#include "orrery/network/topology.h"

namespace orrery::collective {
namespace {

using network::FlowEnd;
using network::FlowSimulation;
using network::GpuId;
using network::LinkId;
using network::LinkKind;
using network::LinkUse;
using network::Topology;

constexpr std::uint32_t kUnused = ~std::uint32_t{0};

/// The link bytes per byte. PCIe is part of an island, or of the path to a NIC.
double CostOf(LinkKind kind, bool leaves_island, const WireShares& shares) {
  const bool is_inside =
      kind == LinkKind::kNvlink || (kind != LinkKind::kNetwork && !leaves_island);
  return 1 / (is_inside ? shares.link : shares.network);
}

constexpr double kPsPerSecond = 1e12;

/// Bytes of the collective and of others on each link, scaled to its full bandwidth.
struct LinkLoads {
  explicit LinkLoads(const Topology& topology)
      : own(topology.num_links(), 0.0), others(topology.num_links(), 0.0) {}

  std::vector<double> own;
  std::vector<double> others;
};

void AddTo(std::vector<double>& load, std::span<const LinkUse> uses, double bytes) {
  for (const LinkUse& use : uses) {
    load[use.link] += use.share * bytes;
  }
}

double FullestSeconds(const Topology& topology, std::span<const double> load) {
  double most = 0;
  for (LinkId link = 0; link < load.size(); ++link) {
    most = std::max(most, load[link] / topology.link(link).bandwidth.bytes_per_second);
  }
  return most;
}

/// Sets the bottleneck; of equal links the first.
void NameBottleneck(const Topology& topology, const LinkLoads& loads, FlowLevelTime& time) {
  double longest = 0;
  for (LinkId link = 0; link < loads.own.size(); ++link) {
    const double rate = topology.link(link).bandwidth.bytes_per_second;
    const double seconds = (loads.own[link] + loads.others[link]) / rate;
    if (loads.own[link] <= 0 || seconds <= longest) {
      continue;
    }
    longest = seconds;
    time.bottleneck = topology.LinkName(link);
    time.bottleneck_share = time.seconds > 0 ? loads.own[link] / rate / time.seconds : 0;
  }
}

class Evaluation {
 public:
  Evaluation(const FlowPlan& plan, const HopLatencies& latencies, FlowNetwork& network,
             const FlowLevelOptions& options)
      : plan_(plan),
        latencies_(latencies),
        network_(network),
        options_(options),
        loads_(network.topology()) {}

  Result<FlowLevelTime> Run() {
    FlowLevelTime time;
    const bool is_alone = options_.other_traffic.empty() && options_.congestion == nullptr;
    ORRERY_TRY(time.seconds, is_alone ? SecondsAlone() : SecondsSimulated());
    NameBottleneck(network_.topology(), loads_, time);
    return time;
  }

 private:
  Status AddLoads(const FlowPlan::Stage& stage, std::vector<double>& load) {
    for (std::uint32_t flow = stage.first_flow; flow < stage.end_flow; ++flow) {
      ORRERY_TRY(const auto uses, network_.UsesOf(plan_.edges(flow), flow, options_.shares));
      AddTo(load, uses, stage.bytes);
    }
    return {};
  }

  Result<double> SecondsAlone() {
    double seconds = static_cast<double>(latencies_.start_ps) / kPsPerSecond;
    std::vector<double> load(loads_.own.size());
    for (const FlowPlan::Stage& stage : plan_.stages()) {
      std::ranges::fill(load, 0.0);
      ORRERY_TRY_STATUS(AddLoads(stage, load));
      seconds +=
          latencies_.Of(stage.hops) / kPsPerSecond + FullestSeconds(network_.topology(), load);
      std::ranges::transform(load, loads_.own, loads_.own.begin(), std::plus<>());
    }
    return seconds;
  }

  Status AddOthers(FlowSimulation& simulation) {
    for (const OtherFlow& other : options_.other_traffic) {
      const FlowEdge edge{.from = other.from, .to = other.to};
      ORRERY_TRY(const auto uses, network_.UsesOf({&edge, 1}, 0, {}));
      simulation.Add(uses, {.bytes = other.bytes, .start_ps = other.start_ps});
      AddTo(loads_.others, uses, other.bytes);
    }
    return {};
  }

  Result<double> SecondsSimulated() {
    FlowSimulation simulation(
        network_.topology(),
        {.congestion = options_.congestion, .merge_ends_within = options_.merge_ends_within});
    ORRERY_TRY_STATUS(AddOthers(simulation));
    CollectiveRun run(plan_, latencies_, options_.shares, network_, simulation);
    run.CountInto(loads_.own);
    ORRERY_TRY_STATUS(run.Start(0));
    while (!run.end_ps()) {
      ORRERY_TRY_STATUS(run.Take(simulation.Advance()));
    }
    return static_cast<double>(*run.end_ps()) / kPsPerSecond;
  }

  const FlowPlan& plan_;
  const HopLatencies& latencies_;
  FlowNetwork& network_;
  const FlowLevelOptions& options_;
  LinkLoads loads_;
};

constexpr double kPsPerMicrosecond = 1e6;

int MostOnAnIsland(std::span<const GpuId> gpu_of_rank, int gpus_of_island) {
  std::map<GpuId, int> ranks_of_island;
  int most = 0;
  for (const GpuId gpu : gpu_of_rank) {
    most = std::max(most, ++ranks_of_island[gpu / static_cast<GpuId>(gpus_of_island)]);
  }
  return most;
}

double ShareOf(double bytes_per_second, Bandwidth of) {
  return of.bytes_per_second > 0 ? bytes_per_second / of.bytes_per_second : 0;
}

}  // namespace

FlowNetwork::FlowNetwork(const network::Topology& topology, FlowNetworkOptions options)
    : router_(topology, std::move(options.routing)),
      sprays_(options.sprays),
      place_of_link_(topology.num_links(), kUnused) {}

void FlowNetwork::Use(LinkId link, double amount) {
  std::uint32_t& place = place_of_link_[link];
  if (place == kUnused) {
    place = static_cast<std::uint32_t>(uses_.size());
    uses_.push_back({.link = link, .share = 0});
  }
  uses_[place].share += amount;
}

Status FlowNetwork::AddEdge(const FlowEdge& edge, std::uint64_t label, const WireShares& shares) {
  const network::Topology& graph = topology();
  const bool is_there = edge.from < graph.num_gpus() && edge.to < graph.num_gpus();
  const bool leaves = is_there && graph.island(edge.from) != graph.island(edge.to);
  if (sprays_) {
    ORRERY_TRY(const network::Route route, router_.Spray(edge.from, edge.to));
    for (const LinkUse& use : route.uses) {
      Use(use.link, edge.share * use.share * CostOf(graph.link(use.link).kind, leaves, shares));
    }
    return {};
  }
  path_.clear();
  ORRERY_TRY_STATUS(router_.AppendPath(edge.from, edge.to, label, path_));
  for (const LinkId link : path_) {
    Use(link, edge.share * CostOf(graph.link(link).kind, leaves, shares));
  }
  return {};
}

Result<std::span<const LinkUse>> FlowNetwork::UsesOf(std::span<const FlowEdge> edges,
                                                     std::uint64_t label,
                                                     const WireShares& shares) {
  for (const LinkUse& use : uses_) {
    place_of_link_[use.link] = kUnused;
  }
  uses_.clear();
  for (const FlowEdge& edge : edges) {
    ORRERY_TRY_STATUS(AddEdge(edge, label, shares));
  }
  return std::span<const LinkUse>(uses_);
}

double HopLatencies::Of(const Hops& hops) const {
  return hops.intra * static_cast<double>(intra_ps) + hops.inter * static_cast<double>(inter_ps);
}

Result<HopLatencies> LinkLatencies(const network::Placement& placement, FlowNetwork& network) {
  ORRERY_TRY(const network::PlacementLatencies latencies,
             FindLatencies(placement, network.router()));
  return HopLatencies{.intra_ps = latencies.island_ps, .inter_ps = latencies.neighbour_ps};
}

Result<FlowLevelTime> FlowLevelTimeOf(const Request& request, Algorithm algorithm,
                                      const network::Placement& placement, FlowNetwork& network,
                                      const FlowLevelOptions& options) {
  ORRERY_TRY(const FlowPlan plan, PlanFlows(request, algorithm, placement, options.plan));
  HopLatencies latencies;
  if (options.latencies) {
    latencies = *options.latencies;
  } else {
    ORRERY_TRY(latencies, LinkLatencies(placement, network));
  }
  return Evaluation(plan, latencies, network, options).Run();
}

CollectiveRun::CollectiveRun(const FlowPlan& plan, const HopLatencies& latencies,
                             const WireShares& shares, FlowNetwork& network,
                             FlowSimulation& simulation)
    : plan_(plan),
      latencies_(latencies),
      shares_(shares),
      network_(network),
      simulation_(simulation) {}

Status CollectiveRun::Start(std::int64_t start_ps) {
  ORRERY_CHECK(stage_ == 0 && !end_ps_, "a collective starts once");
  return AddStages(start_ps + latencies_.start_ps);
}

Status CollectiveRun::Take(std::span<const FlowEnd> ended) {
  for (const FlowEnd& end : ended) {
    if (end.flow < first_flow_ || end.flow >= end_flow_) {
      continue;
    }
    last_end_ps_ = std::max(last_end_ps_, end.time_ps);
    if (--unfinished_ == 0) {
      ++stage_;
      return AddStages(last_end_ps_);
    }
  }
  return {};
}

Status CollectiveRun::AddStages(std::int64_t start_ps) {
  for (; stage_ < plan_.stages().size(); ++stage_) {
    const FlowPlan::Stage& stage = plan_.stages()[stage_];
    start_ps += std::llround(latencies_.Of(stage.hops));
    unfinished_ = stage.end_flow - stage.first_flow;
    if (unfinished_ > 0) {
      return AddFlows(stage, start_ps);
    }
  }
  end_ps_ = start_ps;
  return {};
}

Status CollectiveRun::AddFlows(const FlowPlan::Stage& stage, std::int64_t start_ps) {
  for (std::uint32_t flow = stage.first_flow; flow < stage.end_flow; ++flow) {
    ORRERY_TRY(const auto uses, network_.UsesOf(plan_.edges(flow), flow, shares_));
    const network::FlowId id = simulation_.Add(uses, {.bytes = stage.bytes, .start_ps = start_ps});
    first_flow_ = flow == stage.first_flow ? id : first_flow_;
    end_flow_ = id + 1;
    if (load_of_link_ != nullptr) {
      AddTo(*load_of_link_, uses, stage.bytes);
    }
  }
  return {};
}

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
  return Seconds(request, gpu_of_rank, {});
}

Result<double> ClosedFormCost::Seconds(const Request& request, std::span<const GpuId> gpu_of_rank,
                                       const LinkLimits& limits) {
  ORRERY_TRY(const Fabric fabric, fabrics_.Find(gpu_of_rank));
  return times_.Seconds(fabric, request, limits);
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

Result<LinkDemand> ClosedFormCost::DemandOf(const Request& request,
                                            std::span<const GpuId> gpu_of_rank,
                                            const LinkLimits& limits) {
  ORRERY_TRY(Fabric fabric, fabrics_.Find(gpu_of_rank));
  fabric.has_nvls = fabric.has_nvls && limits.reduces_in_switch;
  ORRERY_TRY(const Tuning tuning, Tune(fabric, request, settings_.nccl, *settings_.tables));
  const AlgorithmAndProtocol candidate{tuning.choice().algorithm, tuning.choice().protocol};
  const Fabric limited = Limited(fabric, limits);
  ORRERY_TRY(const double seconds, times_.Seconds(fabric, request, limits));
  const Shape shape = collective::ShapeOf(fabric, request.kind, candidate.algorithm);
  LinkDemand demand{
      .algorithm = candidate.algorithm, .link = limited.physical_link, .nic = limited.nic};
  if (seconds > 0) {
    const double size = static_cast<double>(request.size.count) / seconds;
    demand.link_share = ShareOf(size * shape.intra_traffic, demand.link);
    demand.nic_share = ShareOf(size * shape.inter_traffic / fabric.ranks_per_node, demand.nic);
  }
  return demand;
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
  const double whole = settings_.cluster->island.per_gpu.bytes_per_second;
  options.shares = {.link = LinkRate(fabric, costs.link_share, settings_.constants) / whole,
                    .network = costs.network_share};
  options.latencies = HopLatencies{.start_ps = std::llround(costs.start * kPsPerMicrosecond),
                                   .intra_ps = std::llround(costs.hop * kPsPerMicrosecond),
                                   .inter_ps = std::llround(costs.network_hop * kPsPerMicrosecond)};
  return FlowLevelTimeOf(request, candidate.algorithm, placement, network_, options);
}

}  // namespace orrery::collective
