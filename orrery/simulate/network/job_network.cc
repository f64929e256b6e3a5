#include "orrery/simulate/network/job_network.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/error.h"
#include "orrery/base/math/mix_bits.h"
#include "orrery/base/units.h"
#include "orrery/collective/cluster_topology.h"
#include "orrery/collective/cost_model.h"
#include "orrery/hardware/cluster.h"
#include "orrery/network/congestion.h"
#include "orrery/network/topology.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/kernel_code.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/simulate/goodput/checkpoint.h"
#include "orrery/simulate/network/flow_usage.h"
#include "orrery/simulate/network/group_limits.h"
#include "orrery/simulate/network/group_times.h"
#include "orrery/simulate/network/link_sharing.h"
#include "orrery/simulate/network/port_usage.h"
#include "orrery/simulate/simulation.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {
namespace {

using network::GpuId;
using network::LinkId;
using network::NodeId;
using network::Topology;

int NumNodes(const workload::Job& machine, const workload::Ensemble& ensemble) {
  GpuId last = 0;
  for (const GpuId gpu : ensemble.gpu_of_rank) {
    last = std::max(last, gpu);
  }
  const int size = std::max(machine.cluster.gpus_per_node, 1);
  return static_cast<int>(last) / size + 1;
}

hardware::Cluster ClusterOf(const workload::Job& machine, const NetworkOptions& options) {
  hardware::Cluster cluster = machine.cluster;
  if (options.oversubscription > 0) {
    cluster.fabric.oversubscription = options.oversubscription;
  }
  return cluster;
}

/// Links of a GPU's NIC to the network and back; none where it has no NIC.
std::vector<LinkId> NicLinks(const Topology& topology, GpuId gpu) {
  std::vector<LinkId> links;
  const auto add_of = [&](NodeId node) {
    for (const auto& ends : {topology.out_links(node), topology.in_links(node)}) {
      for (const LinkId link : ends) {
        if (topology.link(link).kind == network::LinkKind::kNetwork) {
          links.push_back(link);
        }
      }
    }
  };
  add_of(topology.gpu_node(gpu));
  for (const LinkId link : topology.out_links(topology.gpu_node(gpu))) {
    if (topology.kind(topology.link(link).to) == network::NodeKind::kNic) {
      add_of(topology.link(link).to);
    }
  }
  return links;
}

/// Times of several jobs: groups are always of one.
class SeveralTimes : public CommunicationTimes {
 public:
  static Result<std::unique_ptr<CommunicationTimes>> Of(const JobsOnGpus& jobs) {
    auto times = std::make_unique<SeveralTimes>(jobs);
    for (const workload::Job* const job : jobs.jobs) {
      ORRERY_TRY(times->of_job_.emplace_back(), ClusterTimes::Of(*job));
    }
    return times;
  }

  explicit SeveralTimes(const JobsOnGpus& jobs) : jobs_(jobs) {}

  [[nodiscard]] Result<std::int64_t> DurationPs(const workload::Communications::Row& communication,
                                                std::span<const GpuId> gpus) override {
    return TimesOf(gpus).DurationPs(communication, gpus);
  }

  [[nodiscard]] Result<CommunicationTask> KernelOf(
      const workload::Communications::Row& communication, std::span<const GpuId> gpus) override {
    return TimesOf(gpus).KernelOf(communication, gpus);
  }

  [[nodiscard]] Result<collective::LinkDemand> DemandOf(
      const workload::Communications::Row& communication, std::span<const GpuId> gpus) override {
    return TimesOf(gpus).DemandOf(communication, gpus);
  }

 private:
  [[nodiscard]] ClusterTimes& TimesOf(std::span<const GpuId> gpus) const {
    return *of_job_[jobs_.job_of_gpu[gpus.front()]];
  }

  const JobsOnGpus& jobs_;
  std::vector<std::unique_ptr<ClusterTimes>> of_job_;
};

/// Separates groups of different jobs.
class JobLinkClass : public LinkClass {
 public:
  JobLinkClass(const LinkClass& placement, const JobsOnGpus* jobs)
      : placement_(placement), jobs_(jobs) {}

  [[nodiscard]] std::uint64_t Of(std::span<const GpuId> gpus) const override {
    return MixBits(placement_.Of(gpus) + jobs_->job_of_gpu[gpus.front()]);
  }

 private:
  const LinkClass& placement_;
  const JobsOnGpus* jobs_;
};

/// The working shares of the NICs of a GPU.
class NicShares {
 public:
  NicShares(const hardware::Cluster& cluster, const NetworkFaults& faults) : cluster_(cluster) {
    const int per_node = std::max(cluster.nics.per_node, 1);
    const int distinct = std::min(per_node, std::max(cluster.gpus_per_node, 1));
    for (const FailedNic& failed : faults.failed_nics) {
      if (failed_.insert({{failed.node, failed.nic}, true}).second) {
        const auto port = failed.nic * static_cast<std::uint32_t>(distinct) /
                          static_cast<std::uint32_t>(per_node);
        lost_[{failed.node, port}] += static_cast<double>(distinct) / per_node;
      }
    }
    for (const SlowNode& slow : faults.slow_nodes) {
      const auto found = share_of_node_.emplace(slow.node, 1.0).first;
      found->second *= slow.share;
    }
    distinct_ = static_cast<std::uint32_t>(distinct);
  }

  [[nodiscard]] double Of(GpuId gpu) const {
    const auto size = static_cast<std::uint32_t>(std::max(cluster_.gpus_per_node, 1));
    const std::uint32_t node = gpu / size;
    const auto lost = lost_.find({node, gpu % size * distinct_ / size});
    const auto slow = share_of_node_.find(node);
    return std::max(0.0, 1 - (lost == lost_.end() ? 0 : lost->second)) *
           (slow == share_of_node_.end() ? 1 : slow->second);
  }

 private:
  const hardware::Cluster& cluster_;
  std::uint32_t distinct_ = 1;
  std::map<std::pair<std::uint32_t, std::uint32_t>, bool> failed_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> lost_;  // by node and port
  std::map<std::uint32_t, double> share_of_node_;
};

}  // namespace

Result<std::unique_ptr<JobNetwork>> JobNetwork::Of(const workload::Job& machine,
                                                   const workload::Ensemble& ensemble,
                                                   const SimulationOptions& options,
                                                   NetworkModel model, const JobsOnGpus* jobs) {
  auto network = std::make_unique<JobNetwork>(machine, ensemble, options, model, jobs);
  ORRERY_TRY_STATUS(network->Prepare());
  return network;
}

Status JobNetwork::Prepare() {
  ORRERY_TRY(limits_, GroupLimits::Of(machine_, options_.faults));
  const int nodes = NumNodes(machine_, ensemble_);
  if (model_ == NetworkModel::kFlows) {
    // Links have the faults, not groups.
    ORRERY_TRY(limits_, GroupLimits::Of(machine_, {}));
    ORRERY_TRY_STATUS(PrepareTopology());
  } else if (model_ == NetworkModel::kShared) {
    ORRERY_TRY(ports_, PortMapOf(ClusterOf(machine_, options_.network), nodes,
                                 1 - options_.network.background));
  }
  if (jobs_ != nullptr) {
    ORRERY_TRY(times_, SeveralTimes::Of(*jobs_));
  } else {
    ORRERY_TRY(times_, ClusterTimes::Of(machine_, limits_, options_.network.collectives));
  }
  return {};
}

Status JobNetwork::PrepareTopology() {
  const int nodes = NumNodes(machine_, ensemble_);
  topology_ = options_.network.topology;
  if (topology_ == nullptr) {
    ORRERY_TRY(own_topology_, collective::TopologyOf(ClusterOf(machine_, options_.network), nodes));
    topology_ = &*own_topology_;
  }
  const auto needed = static_cast<std::uint32_t>(machine_.gpus);
  if (topology_->num_gpus() < needed) {
    return Fail(
        Error::Kind::kInvalidInput,
        fmt::format("the topology has {} GPUs, the job needs {}", topology_->num_gpus(), needed));
  }
  return {};
}

RankClasses JobNetwork::Classes(bool folds) const {
  // If no rank holds a group back, its cost depends on its placement alone.
  const IslandLinkClass placed(
      static_cast<std::uint32_t>(std::max(machine_.cluster.island.gpus, 1)));
  const LimitedLinkClass limited(placed, limits_);
  const JobLinkClass of_jobs(placed, jobs_);
  const LinkClass& links = jobs_ != nullptr  ? static_cast<const LinkClass&>(of_jobs)
                           : limits_.empty() ? static_cast<const LinkClass&>(placed)
                                             : limited;
  if (!folds || model_ == NetworkModel::kFlows) {
    return Unfolded(ensemble_, links);
  }
  if (model_ == NetworkModel::kAlone) {
    return Fold(ensemble_, links);
  }
  return Fold(ensemble_, LeafLinkClass(links, ports_), SharedPlaces(ports_, ensemble_));
}

FlowNetworkState JobNetwork::StateOf() const {
  const NetworkOptions& network = options_.network;
  FlowNetworkState state{.routing = network.routing,
                         .seed = network.seed,
                         .free_share = 1 - network.background,
                         .background = network.background_flows,
                         .pauses = network.congestion != nullptr && network.congestion->pauses};
  if (options_.faults.empty()) {
    return state;
  }
  const NicShares shares(machine_.cluster, options_.faults);
  state.share_of_link.assign(topology_->num_links(), 1);
  for (GpuId gpu = 0; gpu < topology_->num_gpus(); ++gpu) {
    const double share = shares.Of(gpu);
    if (share == 0) {
      state.failed_nics.push_back(gpu);
      continue;
    }
    for (const LinkId link : NicLinks(*topology_, gpu)) {
      state.share_of_link[link] = share;
    }
  }
  return state;
}

Result<std::unique_ptr<LinkUsage>> JobNetwork::Links(const RankClasses& rank_classes) {
  if (model_ == NetworkModel::kShared) {
    return std::make_unique<PortUsage>(rank_classes, *times_, ports_);
  }
  if (model_ == NetworkModel::kFlows) {
    ORRERY_TRY(FlowUsage usage, FlowUsage::Create(rank_classes, *times_, *topology_, StateOf()));
    return std::make_unique<FlowUsage>(std::move(usage));
  }
  return std::unique_ptr<LinkUsage>();
}

Result<std::vector<LinkTraffic>> JobNetwork::CheckpointTraffic(const RankClasses& rank_classes,
                                                               LinkUsage& links) const {
  std::vector<LinkTraffic> traffic;
  if (!options_.network.checkpoint) {
    return traffic;
  }
  const CheckpointWrite& checkpoint = *options_.network.checkpoint;
  const hardware::Cluster& cluster = machine_.cluster;
  const double nics = cluster.nics.bandwidth.bytes_per_second * cluster.nics.per_node;
  if (!(nics > 0)) {
    return Fail(
        Error::Kind::kInvalidInput,
        fmt::format("{} has no NICs over which a checkpoint could be written", cluster.name));
  }
  const Bytes size = checkpoint.size.value_or(CheckpointBytes(machine_));
  const auto ranks = static_cast<double>(ensemble_.num_ranks());
  const double rate = std::min(checkpoint.storage.bytes_per_second / ranks,
                               nics / std::max(cluster.gpus_per_node, 1));
  // No step takes longer, and sums of times stay far from overflow.
  constexpr double kMostSeconds = 86'400;
  const double seconds = std::min(static_cast<double>(size.count) / ranks / rate, kMostSeconds);
  for (RankClassId rank_class = 0; rank_class < rank_classes.classes.size(); ++rank_class) {
    LinkTraffic& part = traffic.emplace_back();
    ORRERY_TRY(part.uses, links.UsesToStorage(rank_class, {rate}));
    part.duration_ps = std::llround(seconds * 1e12);
  }
  return traffic;
}

}  // namespace orrery::simulate
