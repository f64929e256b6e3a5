#include "orrery/simulate/simulation.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/error.h"
#include "orrery/kernel/estimate.h"
#include "orrery/overlap/analytic_model.h"
#include "orrery/overlap/concurrent_kernels.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/overlap_rates.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/simulate/goodput/checkpoint.h"
#include "orrery/simulate/network/job_network.h"
#include "orrery/simulate/network/link_sharing.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/generate/generate.h"
#include "orrery/workload/job/job.h"

namespace orrery::simulate {
namespace {

Status MarkSlowRanks(const std::vector<SlowRank>& slow_ranks, workload::Ensemble& ensemble) {
  for (const SlowRank& slow : slow_ranks) {
    if (slow.rank >= ensemble.num_ranks()) {
      return Fail(Error::Kind::kInvalidInput,
                  fmt::format("there is no rank {}; the job has {} ranks, counted from 0",
                              slow.rank, ensemble.num_ranks()));
    }
    ensemble.slowness_of_rank[slow.rank] = slow.factor;
  }
  return {};
}

// The GPU of each program.
ModelledOverlap::Settings PairSettings(const workload::Job& machine,
                                       const RankClasses& rank_classes) {
  ModelledOverlap::Settings settings;
  settings.priority = machine.framework.prioritises_communication
                          ? overlap::Priority::kCommunication
                          : overlap::Priority::kSame;
  settings.gpus.push_back(SharedGpuOf(machine.gpu));
  if (machine.other_gpus.empty()) {
    return settings;
  }
  std::map<std::string, std::uint32_t> gpu_of_name{{machine.gpu.name, 0}};
  settings.gpu_of_program.resize(rank_classes.programs.size());
  for (const RankClass& rank_class : rank_classes.classes) {
    const hardware::Gpu& gpu = workload::GpuOfRank(machine, rank_class.rank);
    const auto [found, is_new] =
        gpu_of_name.emplace(gpu.name, static_cast<std::uint32_t>(settings.gpus.size()));
    if (is_new) {
      settings.gpus.push_back(SharedGpuOf(gpu));
    }
    settings.gpu_of_program[rank_class.program] = found->second;
  }
  return settings;
}

std::unique_ptr<const RateModel> RatesOf(const workload::Job& machine,
                                         const RankClasses& rank_classes,
                                         const SimulationOptions& options) {
  static const overlap::AnalyticModel kArithmetic;
  switch (options.overlap) {
    case OverlapKind::kNone:
      return nullptr;
    case OverlapKind::kAnalytic:
      return std::make_unique<AnalyticOverlap>();
    case OverlapKind::kModel:
      break;
  }
  ModelledOverlap::Settings settings = PairSettings(machine, rank_classes);
  settings.model = options.overlap_model != nullptr ? options.overlap_model : &kArithmetic;
  settings.memo = options.overlap_memo;
  return std::make_unique<ModelledOverlap>(std::move(settings));
}

// Why a step has so many tasks, most likely.
std::string LikelyMistake(const workload::Job& job, const SimulationOptions& options) {
  const workload::Training& training = job.training;
  constexpr std::int64_t kPlausibleBatch = 65'536;  // published runs have at most 15,360 samples
  if (training.sequence > 1 && training.global_batch >= kPlausibleBatch) {
    return fmt::format("training.global_batch {} counts samples, not tokens: did you mean {}?",
                       training.global_batch, training.global_batch / training.sequence);
  }
  if (!options.folds) {
    return "identical ranks are simulated one by one: leave out --no-fold";
  }
  if (NetworkModelOf(job, options) == NetworkModel::kFlows) {
    return "flows are those of every rank: raise --max-tasks, or take --network shared, which "
           "simulates equal ranks once";
  }
  return job.microbatches() > 1
             ? fmt::format(
                   "a replica runs {} micro-batches: raise training.micro_batch or gpus, or "
                   "lower training.global_batch",
                   job.microbatches())
             : "the model has very many layers, or the pipeline very many stages: lower one";
}

Status CheckTasks(const workload::Job& job, const SimulationOptions& options) {
  ORRERY_TRY(const std::int64_t of_programs, workload::EstimateTasks(job));
  // Without folding, each rank of a stage runs its own copy of the program.
  const bool has_flows = NetworkModelOf(job, options) == NetworkModel::kFlows;
  const double copies = options.folds && !has_flows ? 1 : job.gpus / job.plan.pp;
  const double tasks = static_cast<double>(of_programs) * copies;
  // About 4 GB, most of it programs, and 3 GB, most of it times.
  constexpr std::int64_t kMostTasks = 20'000'000;
  constexpr std::int64_t kMostTasksOfFlows = 60'000'000;
  const std::int64_t most = options.max_tasks > 0 ? options.max_tasks
                            : has_flows           ? kMostTasksOfFlows
                                                  : kMostTasks;
  if (tasks <= static_cast<double>(most)) {
    return {};
  }
  return Fail(Error::Kind::kInvalidInput,
              fmt::format("a step has about {:.0f} tasks, and --max-tasks allows {}: {}", tasks,
                          most, LikelyMistake(job, options)));
}

std::optional<WrittenCheckpoint> WrittenOf(const workload::Job& machine,
                                           const SimulationOptions& options,
                                           const std::vector<LinkTraffic>& traffic,
                                           const Timeline& timeline) {
  if (traffic.empty()) {
    return std::nullopt;
  }
  return WrittenCheckpoint{
      .size = options.network.checkpoint->size.value_or(CheckpointBytes(machine)),
      .of_gpu = {traffic.front().uses.bytes_per_second},
      .end_ps = *std::ranges::max_element(timeline.traffic_end_ps)};
}

}  // namespace

std::string_view Name(NetworkModel model) {
  switch (model) {
    case NetworkModel::kShared:
      return "shared";
    case NetworkModel::kFlows:
      return "flows";
    default:
      return "alone";
  }
}

NetworkModel NetworkModelOf(const workload::Job& machine, const SimulationOptions& options) {
  if (options.network.model != NetworkModel::kDefault) {
    return options.network.model;
  }
  return machine.gpus > machine.cluster.gpus_per_node ? NetworkModel::kShared
                                                      : NetworkModel::kAlone;
}

Result<Simulation> SimulateEnsemble(const workload::Job& machine, workload::Ensemble& ensemble,
                                    const SimulationOptions& options, const JobsOnGpus* jobs) {
  ORRERY_TRY_STATUS(MarkSlowRanks(options.slow_ranks, ensemble));
  Simulation simulated;
  simulated.network = NetworkModelOf(machine, options);
  ORRERY_TRY(const std::unique_ptr<JobNetwork> network,
             JobNetwork::Of(machine, ensemble, options, simulated.network, jobs));
  simulated.rank_classes = network->Classes(options.folds);
  EngineOptions simulation;
  simulation.jitter = options.jitter;
  simulation.repetitions = 1 + options.steps_before;
  const std::unique_ptr<const RateModel> rates = RatesOf(machine, simulated.rank_classes, options);
  simulation.rates = rates.get();
  ORRERY_TRY(const std::unique_ptr<LinkUsage> links, network->Links(simulated.rank_classes));
  simulation.links = links.get();
  simulation.congestion = options.network.congestion;
  std::vector<LinkTraffic> traffic;
  if (links != nullptr) {
    ORRERY_TRY(traffic, network->CheckpointTraffic(simulated.rank_classes, *links));
    simulation.traffic = &traffic;
  }
  ORRERY_TRY(Timeline timeline, Simulate(simulated.rank_classes, network->times(), simulation));
  simulated.checkpoint = WrittenOf(machine, options, traffic, timeline);
  simulated.timeline = LastStep(std::move(timeline));
  return simulated;
}

Result<Simulation> Simulate(const workload::Job& job, const kernel::CostModel& costs,
                            const SimulationOptions& options) {
  ORRERY_TRY_STATUS(CheckTasks(job, options));
  ORRERY_TRY(workload::GeneratedJob generated, workload::Generate(job, costs));
  auto kept = std::make_unique<workload::GeneratedJob>(std::move(generated));
  ORRERY_TRY(Simulation simulation, SimulateEnsemble(job, kept->ensemble, options));
  simulation.generated = std::move(kept);
  return simulation;
}

}  // namespace orrery::simulate
