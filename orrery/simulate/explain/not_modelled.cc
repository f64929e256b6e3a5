#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "orrery/base/string_table.h"
#include "orrery/base/text/text.h"
#include "orrery/collective/machine_models.h"
#include "orrery/hardware/cluster.h"
#include "orrery/network/congestion.h"
#include "orrery/simulate/network/flow_usage.h"
#include "orrery/simulate/network/group_limits.h"
#include "orrery/simulate/network/port_usage.h"
#include "orrery/simulate/simulation.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/generate/generate.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/plan/plan.h"
#include "orrery/workload/plan/sharding.h"
#include "orrery/workload/plan/token_load.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {
namespace {

using workload::Job;

using Sentences = std::vector<std::string>;

bool HoldsAnyOf(const workload::Ensemble& ensemble, std::string_view category) {
  return std::ranges::any_of(ensemble.programs, [&](const workload::Program& program) {
    return std::ranges::any_of(program.held_memory.category, [&](StringId id) {
      return Contains(program.strings.View(id), category);
    });
  });
}

void AddPrices(const workload::PriceCoverage& coverage, Sentences& sentences) {
  if (coverage.by_roofline > 0) {
    sentences.push_back(
        fmt::format("{} of {} operators have no measured kernels of their kind on any GPU and are "
                    "estimated by the roofline.",
                    coverage.by_roofline, coverage.operators));
  }
  if (coverage.by_other_gpus > 0) {
    sentences.push_back(fmt::format(
        "{} of {} operators were never measured on {} and are estimated from other GPUs.",
        coverage.by_other_gpus, coverage.operators, coverage.gpu));
  }
  if (coverage.extrapolated > 0) {
    sentences.push_back(
        fmt::format("{} of {} operators are larger or smaller than any that was measured for {}.",
                    coverage.extrapolated, coverage.operators, coverage.gpu));
  }
  if (coverage.unaligned > 0) {
    sentences.push_back(fmt::format(
        "{} of {} operators are GEMMs of unaligned sizes, which were not measured on {}: they "
        "lose what they lose on {}.",
        coverage.unaligned, coverage.operators, coverage.gpu, coverage.alignment_gpu));
  }
  if (coverage.searched > 0) {
    sentences.push_back(fmt::format(
        "{} of {} operators are GEMMs whose fastest kernels were measured in short bursts of a "
        "search; a library that a framework calls is taken to need {:.2f} times as long.",
        coverage.searched, coverage.operators, coverage.library_factor));
  }
}

// The power of only a few boards was measured.
void AddPower(const std::string& gpu, const workload::StepPower& power, Sentences& sentences) {
  if (power.measured_on.empty()) {
    sentences.push_back(fmt::format(
        "The power of {} is not known: kernels are as fast as in a burst, and energy is left out.",
        gpu));
  } else if (power.measured_on != gpu) {
    sentences.push_back(fmt::format(
        "The power of {} was never measured; it is scaled from {}, and the clock with it ({:.0f} % "
        "of the highest).",
        gpu, power.measured_on, 100 * power.clock));
  }
}

void AddFramework(const workload::Framework& framework, Sentences& sentences) {
  if (!framework.is_fitted) {
    const workload::ScalarPopulation& population = workload::Population();
    sentences.push_back(fmt::format(
        "No published runs of {} were fitted: what it reaches of kernels and "
        "collectives is the mean of other frameworks (GEMMs ± {:.0f} %, communication ± "
        "{:.0f} %, launches ± {:.0f} %).",
        framework.name, 100 * population.deviation[0], 100 * population.deviation[3],
        100 * population.deviation[4]));
  }
}

// Of the machine as the catalogue has it; 0: never measured.
int MostMeasuredGpus(const hardware::Cluster& cluster) {
  int most = 0;
  for (const collective::MachineModel& model : collective::MachineModels::Shipped().all()) {
    most = std::max(most, model.machine == cluster.name ? model.most_gpus : 0);
  }
  return most;
}

std::string_view RoutesText(Routing routing) {
  switch (routing) {
    case Routing::kHash:
      return "hashed (ECMP)";
    case Routing::kSpray:
      return "sprayed evenly";
    case Routing::kAdaptive:
      break;
  }
  return "adaptive (--routing)";
}

std::string_view OthersText(const NetworkOptions& network, bool has_several_jobs) {
  if (network.background > 0 || !network.background_flows.empty()) {
    return "";
  }
  return has_several_jobs ? " Jobs that are not simulated send nothing (--background)."
                          : " Other jobs send nothing (--background).";
}

// Adds the effects that the network model leaves out.
void AddSharing(const Job& machine, const SimulationOptions& options, bool has_several_jobs,
                Sentences& sentences) {
  if (machine.gpus <= machine.cluster.island.gpus) {
    return;
  }
  const NetworkOptions& network = options.network;
  const std::string_view others = OthersText(network, has_several_jobs);
  switch (NetworkModelOf(machine, options)) {
    case NetworkModel::kShared:
      sentences.push_back(fmt::format(
          "Switches spread traffic evenly: routes that collide, congestion control and full "
          "buffers are left out (--network flows).{}",
          others));
      break;
    case NetworkModel::kFlows:
      sentences.push_back(fmt::format(
          "Routes are {}; a transfer advances on all its links together, with the algorithm that "
          "NCCL chooses alone; packets, queues and their latency are left out.{}{}",
          RoutesText(network.routing),
          network.topology == nullptr
              ? ""
              : fmt::format(" Alone it takes the time that {} needs, however fast the topology is.",
                            machine.cluster.name),
          others));
      break;
    default:
      sentences.push_back(fmt::format(
          "Groups that use the network at the same time do not slow each other down: no "
          "congestion between them, none by other jobs{}.",
          options.faults.empty() ? ", no failed links" : ""));
  }
}

void AddNetwork(const Job& job, Sentences& sentences) {
  if (job.gpus < 2) {
    return;
  }
  const auto found =
      collective::MachineModels::Shipped().Find({.cluster = &job.cluster, .gpus = job.gpus});
  const int most_gpus = MostMeasuredGpus(job.cluster);
  if (found.model != nullptr && found.model->machine != job.cluster.name) {
    sentences.push_back(
        most_gpus == 0
            ? fmt::format("Collectives were never measured on {}; constants are those of {}.",
                          job.cluster.name, found.model->machine)
            : fmt::format("Collectives on {} were measured up to {} GPUs{}; constants of larger "
                          "groups are those of {}.",
                          job.cluster.name, most_gpus,
                          most_gpus < job.gpus ? "" : ", but not as this job changes it",
                          found.model->machine));
  } else if (found.model != nullptr && most_gpus < job.gpus) {
    sentences.push_back(
        fmt::format("Collectives on {} were measured up to {} GPUs; beyond that they follow their "
                    "closed form.",
                    job.cluster.name, most_gpus));
  }
}

// Routes of flows have the faults themselves.
void AddFaultLimits(const Job& machine, const SimulationOptions& options, Sentences& sentences) {
  if (!options.faults.empty() && NetworkModelOf(machine, options) != NetworkModel::kFlows) {
    sentences.emplace_back(
        "Groups that cross a node with faults spread over the NICs that are left, by the "
        "algorithms that they would choose without faults; rails that NICs share, retries and "
        "switches on the way are left out.");
  }
}

void AddDifferences(const Job& job, const SimulationOptions& options, bool has_several_jobs,
                    Sentences& sentences) {
  const bool are_equal =
      options.jitter == 0 && options.slow_ranks.empty() && job.other_gpus.empty();
  if (are_equal && job.gpus > 1) {
    sentences.push_back(fmt::format(
        "All GPUs are equally fast, beyond what the framework's spread adds; {} differ.",
        has_several_jobs ? "--jitter makes them" : "--jitter, --slow and --gpu-of make them"));
  }
  if (!job.other_gpus.empty()) {
    sentences.push_back(fmt::format(
        "Ranks with other GPUs get as much work as the rest, in nodes like those of {}: "
        "batches are not balanced, and groups choose their algorithms as {} alone do.",
        job.cluster.name, job.gpu.name));
  }
  AddFaultLimits(job, options, sentences);
}

// A number says how uneven ranks are, not how experts are: it becomes a law.
void AddTokenLoad(const Job& job, Sentences& sentences) {
  const workload::TokenRouting& routing = job.plan.routing;
  if (routing.zipf > 0 || !routing.loads.empty()) {
    return;
  }
  const workload::TokenLoad load(*workload::ExpertsOf(job.model), job.plan);
  const double mean = load.Mean();
  constexpr double kTolerance = 0.01;  // draws do not meet it exactly
  const bool is_met = mean >= (1 - kTolerance) * job.plan.token_imbalance;
  sentences.push_back(fmt::format(
      "plan.token_imbalance {:g} is taken as experts that are popular as 1/i^{:.2f} (Zipf's law), "
      "whose busiest rank has {:.2f} times the mean load{}; a file of recorded loads says it as it "
      "was.",
      job.plan.token_imbalance, load.exponent(), mean, is_met ? "" : ", the most there is"));
}

void AddPlan(const Job& job, const workload::Ensemble& ensemble, Sentences& sentences) {
  if (workload::HasExperts(job.model) && job.plan.token_imbalance == 1) {
    sentences.emplace_back(
        "Experts get equal numbers of tokens; plan.token_imbalance says how uneven they are.");
  } else if (workload::HasExperts(job.model) && job.plan.ep == 1) {
    sentences.emplace_back(
        "plan.token_imbalance changes nothing with plan.ep 1: every rank has all experts, and what "
        "uneven products of experts cost is left out.");
  } else if (workload::HasExperts(job.model) && job.plan.capacity_factor == 0) {
    AddTokenLoad(job, sentences);
    sentences.emplace_back(
        "In each layer all ranks take as long as the one whose experts are busiest, in the "
        "all-to-all too: which one it is does not matter.");
  }
  if (job.training.adapter_rank > 0) {
    const bool is_all = job.training.adapter_targets == workload::AdapterTargets::kLinear;
    sentences.push_back(fmt::format(
        "LoRA adapters are applied to the {}; their small collectives between tensor-parallel "
        "ranks are left out.",
        is_all ? "attention projections and feed-forward networks" : "attention projections only"));
  }
  if (job.training.base_format == workload::BaseFormat::kNf4) {
    sentences.emplace_back(
        "Four-bit matrices are made 16-bit at the speed of an elementwise kernel that reads a byte "
        "for two elements: kernels of bitsandbytes and others may be slower.");
  }
  if (job.plan.offload_activations > 0) {
    sentences.emplace_back(
        "Copies of activations reach the bandwidth of the link to the host, and pinned memory is "
        "there already; GPUs that share a link are not modelled.");
  }
  if (job.plan.pp > 1 && job.framework.reshard == workload::Reshard::kDefault &&
      workload::ReshardsAfterForward(job.plan)) {
    sentences.emplace_back(
        "Gradients are reduced after each micro-batch; with plan.reshard always, too, PyTorch's "
        "pipeline schedules sum whole gradients and reduce them once a step.");
  }
  if (!HoldsAnyOf(ensemble, "buffers")) {
    sentences.emplace_back("The memory of NCCL's buffers and of the CUDA context.");
  }
  if (!job.framework.guessed.empty()) {
    sentences.push_back(fmt::format("How {} does these is guessed, no document states it: {}.",
                                    job.framework.name, fmt::join(job.framework.guessed, ", ")));
  }
}

void AddOverlap(const Job& job, const SimulationOptions& options, Sentences& sentences) {
  if (options.overlap == OverlapKind::kNone) {
    sentences.emplace_back("Kernels that run together do not slow each other down.");
  }
  if (options.overlap == OverlapKind::kModel && job.gpus > 1) {
    sentences.emplace_back(
        "How the blocks of kernels are launched is not known to a plan: kernels beside "
        "communication are taken to fill the GPU; clocks do not fall when more runs at once.");
  }
}

using Phrases = std::vector<std::string>;

void AddRanks(const workload::Job& machine, const SimulationOptions& options, Phrases& phrases) {
  for (const workload::OtherGpus& other : machine.other_gpus) {
    const bool is_one = other.first == other.last;
    phrases.push_back(fmt::format("rank{} {} {} {}", is_one ? "" : "s", RanksText(other),
                                  is_one ? "has" : "have", other.gpu.name));
  }
  for (const SlowRank& slow : options.slow_ranks) {
    phrases.push_back(fmt::format("rank {} takes {} times as long", slow.rank, slow.factor));
  }
  if (options.jitter > 0) {
    phrases.push_back(fmt::format("kernel times spread by {}", options.jitter));
  }
}

void AddFaults(const workload::Job& machine, const NetworkFaults& faults, Phrases& phrases) {
  std::map<std::uint32_t, std::set<std::uint32_t>> failed_of_node;
  for (const FailedNic& failed : faults.failed_nics) {
    failed_of_node[failed.node].insert(failed.nic);
  }
  const int nics = machine.cluster.nics.per_node;
  for (const auto& [node, failed] : failed_of_node) {
    phrases.push_back(fmt::format("node {} has {} of {} NICs", node,
                                  nics - static_cast<int>(failed.size()), nics));
  }
  for (const SlowNode& slow : faults.slow_nodes) {
    phrases.push_back(
        fmt::format("the NICs of node {} carry {} of what they should", slow.node, slow.share));
  }
}

void AddOversubscription(const workload::Job& machine, const NetworkOptions& network,
                         Phrases& phrases) {
  std::string phrase =
      fmt::format("first switches are oversubscribed {} : 1", network.oversubscription);
  if (network.topology != nullptr) {
    phrase += ", which changes nothing: the topology says what its links carry";
  } else if (network.oversubscription > 1 &&
             !HasUplinks(machine.cluster, machine.gpus, network.oversubscription)) {
    phrase += ", which changes nothing: no GPU sends over a switch above the first";
  }
  phrases.push_back(std::move(phrase));
}

void AddNetworkChanges(const workload::Job& machine, const NetworkOptions& network,
                       Phrases& phrases) {
  if (network.topology != nullptr) {
    phrases.push_back(fmt::format("a topology of {} GPUs and {} links",
                                  network.topology->num_gpus(), network.topology->num_links()));
  }
  if (network.model == NetworkModel::kFlows && network.routing != Routing::kAdaptive) {
    phrases.push_back(network.routing == Routing::kHash
                          ? fmt::format("routes by hash (ECMP), seed {}", network.seed)
                          : std::string("packets are sprayed evenly"));
  }
  if (network.oversubscription > 0) {
    AddOversubscription(machine, network, phrases);
  }
  if (network.background > 0) {
    phrases.push_back(
        fmt::format("other traffic takes {:.0f} % of the network", 100 * network.background));
  }
  if (!network.background_flows.empty()) {
    phrases.push_back(fmt::format("{} flows of others", network.background_flows.size()));
  }
  if (network.congestion != nullptr && network.congestion->pauses) {
    phrases.emplace_back("full links pause those in front of them (PFC)");
  }
  if (network.checkpoint) {
    phrases.push_back(fmt::format("a checkpoint is written at {:.6g} GB/s",
                                  network.checkpoint->storage.bytes_per_second * 1e-9));
  }
}

}  // namespace

Sentences NotModelledOfNetwork(const Job& machine, const SimulationOptions& options) {
  Sentences sentences;
  AddSharing(machine, options, false, sentences);
  AddFaultLimits(machine, options, sentences);
  return sentences;
}

Sentences NotModelled(const Job& job, const workload::GeneratedJob& generated,
                      const SimulationOptions& options, const Job* machine) {
  Sentences sentences;
  const bool has_several_jobs = machine != nullptr;
  for (const workload::PriceCoverage& coverage : generated.coverage) {
    AddPrices(coverage, sentences);
  }
  for (std::size_t i = 0; i < generated.power.size() && job.mechanisms.power; ++i) {
    AddPower(generated.coverage[i].gpu, generated.power[i], sentences);
  }
  AddFramework(job.framework, sentences);
  AddNetwork(job, sentences);
  AddSharing(has_several_jobs ? *machine : job, options, has_several_jobs, sentences);
  AddPlan(job, generated.ensemble, sentences);
  AddDifferences(job, options, has_several_jobs, sentences);
  AddOverlap(job, options, sentences);
  if (options.network.checkpoint) {
    sentences.emplace_back(
        "The checkpoint leaves the network over the NICs of training, equal parts from all ranks; "
        "a storage network of its own, the copy to the host before it and queues of the storage "
        "are left out.");
  }
  sentences.push_back(fmt::format(
      "Loading data, {}evaluation, logging, failures, and the first steps with their compilation "
      "and tuning.",
      options.network.checkpoint ? "" : "checkpoints, "));
  return sentences;
}

Phrases WhatIfs(const workload::Job& machine, const SimulationOptions& options) {
  Phrases phrases;
  AddRanks(machine, options, phrases);
  AddFaults(machine, options.faults, phrases);
  AddNetworkChanges(machine, options.network, phrases);
  return phrases;
}

}  // namespace orrery::simulate
