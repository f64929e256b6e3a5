#include "orrery/simulate/explain/advice.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "orrery/base/concurrency/parallel.h"
#include "orrery/base/error.h"
#include "orrery/learn/interval.h"
#include "orrery/simulate/explain/breakdown.h"
#include "orrery/simulate/explain/interval.h"
#include "orrery/simulate/explain/summary.h"
#include "orrery/simulate/network/group_limits.h"
#include "orrery/simulate/scenario.h"
#include "orrery/simulate/simulation.h"
#include "orrery/trace/speedup.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::simulate {
namespace {

using workload::Job;
using workload::Plan;

constexpr double kLeastGain = 0.01;
constexpr double kNearlyAll = 0.9;
constexpr double kGbit = 1e9 / 8;
// Of a large job only a few are tried, so that advice takes a few times as long as the answer.
constexpr std::size_t kMostChanges = 8;
constexpr std::size_t kFewChanges = 3;
constexpr std::int64_t kManyEvents = 1'000'000;
constexpr std::size_t kMostRepairs = 4;  // one by one; more are repaired together

/// A job that is changed in one respect.
struct Variant {
  std::string what = {};
  std::string setting = {};
  Job job;
  SimulationOptions options;
};

Variant Healthy(Variant variant) {
  variant.job.other_gpus.clear();
  variant.options.slow_ranks.clear();
  variant.options.faults = {};
  variant.options.jitter = 0;
  return variant;
}

// One variant for each entry of a list of differences, or for all entries that `are_one`.
template <typename ListOf, typename AreOne>
void AddRepairs(const Variant& base, ListOf list_of, AreOne are_one,
                std::vector<Variant>& repairs) {
  Variant copy = base;
  const auto& entries = list_of(copy);
  for (auto entry = entries.begin(); entry != entries.end(); ++entry) {
    const auto belongs = [&](const auto& other) { return are_one(*entry, other); };
    if (std::find_if(entries.begin(), entry, belongs) != entry) {
      continue;
    }
    Variant alone = Healthy(base);
    std::ranges::copy_if(entries, std::back_inserter(list_of(alone)), belongs);
    Variant& repaired = repairs.emplace_back(base);
    std::erase_if(list_of(repaired), belongs);
    repaired.what = WhatIfs(alone.job, alone.options).front();
  }
}

std::vector<Variant> RepairsOf(const Job& job, const SimulationOptions& options) {
  const Variant base{.job = job, .options = options};
  std::vector<Variant> repairs;
  AddRepairs(
      base, [](Variant& of) -> auto& { return of.job.other_gpus; },
      [](const auto& a, const auto& b) { return a.first == b.first; }, repairs);
  AddRepairs(
      base, [](Variant& of) -> auto& { return of.options.slow_ranks; },
      [](const auto& a, const auto& b) { return a.rank == b.rank; }, repairs);
  AddRepairs(
      base, [](Variant& of) -> auto& { return of.options.faults.failed_nics; },
      [](const auto& a, const auto& b) { return a.node == b.node; }, repairs);
  AddRepairs(
      base, [](Variant& of) -> auto& { return of.options.faults.slow_nodes; },
      [](const auto& a, const auto& b) { return a.node == b.node; }, repairs);
  if (repairs.size() < 2) {
    return repairs;
  }
  // Two that are equally slow gain nothing one by one.
  Variant all = Healthy(base);
  all.options.jitter = options.jitter;
  std::vector<std::string> phrases;
  std::ranges::transform(repairs, std::back_inserter(phrases), &Variant::what);
  all.what = fmt::format("{}", fmt::join(phrases, " and "));
  if (repairs.size() > kMostRepairs) {
    repairs.clear();
  }
  repairs.insert(repairs.begin(), std::move(all));
  return repairs;
}

// Blocks of each stage; nothing where stages hold parts of different ends of the chain.
std::vector<int> LayersOfStages(const Job& job) {
  const workload::Transformer* const model = job.model.transformer();
  if (model == nullptr || job.plan.pp < 2) {
    return {};
  }
  const auto pp = static_cast<std::size_t>(job.plan.pp);
  const int blocks = static_cast<int>(model->num_blocks());
  if (!job.plan.layers_per_stage.empty()) {
    return job.plan.layers_per_stage.size() == pp ? job.plan.layers_per_stage : std::vector<int>();
  }
  if (blocks % job.plan.pp == 0 && !job.framework.splits_layers_by_work) {
    return std::vector<int>(pp, blocks / job.plan.pp);
  }
  return {};
}

/// Collects changes that the job allows.
class Changes {
 public:
  Changes(const Job& job, const SimulationOptions& options, JobScope scope, std::size_t most)
      : job_(job), options_(options), scope_(scope), most_(most) {}

  void AddFor(const Loss& loss) {
    if (scope_ == JobScope::kMachine) {
      if (loss.kind == TimeKind::kTransfer) {
        TryFasterNics();
      }
      return;
    }
    switch (loss.kind) {
      case TimeKind::kBubble:
        TryChunks();
        TryMicroBatch(/*larger=*/false);
        TryLargerBatch();
        break;
      case TimeKind::kOptimizer:
        TryShardedOptimizer();
        TryLargerBatch();
        break;
      case TimeKind::kHost:
        TryMicroBatch(/*larger=*/true);
        TryGraphs();
        break;
      case TimeKind::kIdle:
        TryGraphs();
        break;
      case TimeKind::kTransfer:
        AddForTransfer(loss.what);
        break;
      default:  // waiting has its cause elsewhere
        break;
    }
  }

  // Moves layers from the busiest stage, one at a time, to the one that is least busy then.
  void MoveLayers(const StepSummary& summary) {
    const std::vector<int> layers = LayersOfStages(job_);
    std::vector<std::int64_t> busy_ps(layers.size());
    for (const StageSummary& stage : summary.stages) {
      if (stage.stage && *stage.stage < busy_ps.size()) {
        busy_ps[*stage.stage] = std::max(busy_ps[*stage.stage], stage.busy_ps);
      }
    }
    if (layers.empty() || scope_ == JobScope::kMachine) {
      return;
    }
    const std::size_t from = IndexOf(std::ranges::max_element(busy_ps), busy_ps);
    const std::int64_t layer_ps = busy_ps[from] / std::max(layers[from], 1);
    std::vector<int> moved = layers;
    while (layer_ps > 0 && moved[from] > 1) {
      const std::size_t to = IndexOf(std::ranges::min_element(busy_ps), busy_ps);
      if (busy_ps[to] + layer_ps >= busy_ps[from]) {
        break;
      }
      --moved[from];
      ++moved[to];
      busy_ps[from] -= layer_ps;
      busy_ps[to] += layer_ps;
    }
    if (moved != layers) {
      Try(fmt::format("stages of {} layers", fmt::join(moved, ", ")),
          fmt::format("plan.layers_per_stage=[{}]", fmt::join(moved, ", ")),
          [&](Job& job) { job.plan.layers_per_stage = moved; });
    }
  }

  [[nodiscard]] std::vector<Variant> Take() && { return std::move(variants_); }

 private:
  template <typename Iterator>
  static std::size_t IndexOf(Iterator found, const std::vector<std::int64_t>& list) {
    return static_cast<std::size_t>(found - list.begin());
  }

  template <typename Change>
  void Try(std::string what, std::string setting, Change change) {
    if (variants_.size() == most_ ||
        std::ranges::find(variants_, setting, &Variant::setting) != variants_.end()) {
      return;
    }
    Variant variant{std::move(what), std::move(setting), job_, options_};
    change(variant.job);
    Plan& plan = variant.job.plan;
    plan.dp = variant.job.gpus / std::max(plan.tp * plan.pp * plan.cp, 1);
    if (scope_ == JobScope::kMachine || CheckJob(variant.job)) {
      variants_.push_back(std::move(variant));
    }
  }

  void AddForTransfer(const std::string& dimension) {
    if (dimension == "tp") {
      TryIf(job_.plan.tp > 1 && !job_.plan.sequence_parallel, "sequence parallelism",
            "plan.sequence_parallel=true", [](Job& job) { job.plan.sequence_parallel = true; });
      TryHalf("tensor", "tp", &Plan::tp);
      TryIf(job_.framework.tensor_overlap != workload::TensorOverlap::kPipelined,
            "GEMMs that overlap with tp communication", "framework.tensor_overlap=pipelined",
            [](Job& job) { job.framework.tensor_overlap = workload::TensorOverlap::kPipelined; });
    } else if (dimension == "dp") {
      TryIf(job_.framework.data_overlap == workload::DataOverlap::kAfterBackward,
            "gradient reduction that overlaps with the backward pass",
            "framework.data_overlap=buckets",
            [](Job& job) { job.framework.data_overlap = workload::DataOverlap::kBuckets; });
      TryLargerBatch();
    } else if (dimension == "ep") {
      TryHalf("expert", "ep", &Plan::ep);
      TryIf(!job_.framework.overlaps_experts, "experts that overlap with their dispatch",
            "framework.overlaps_experts=true",
            [](Job& job) { job.framework.overlaps_experts = true; });
    } else if (dimension == "cp") {
      TryHalf("context", "cp", &Plan::cp);
    }
    TryFasterNics();
  }

  template <typename Change>
  void TryIf(bool is_possible, std::string what, std::string setting, Change change) {
    if (is_possible) {
      Try(std::move(what), std::move(setting), change);
    }
  }

  void TryHalf(std::string_view kind, std::string_view name, int Plan::* degree) {
    const int now = job_.plan.*degree;
    TryIf(now % 2 == 0,
          fmt::format("{} parallelism over {} instead of {} ranks", kind, now / 2, now),
          fmt::format("plan.{}={}", name, now / 2), [&](Job& job) { job.plan.*degree = now / 2; });
  }

  void TryChunks() {
    using enum workload::PipelineSchedule;
    const bool is_interleaved = job_.plan.schedule == kInterleaved;
    const int chunks = is_interleaved ? 2 * job_.plan.chunks : 2;
    TryIf(is_interleaved || job_.plan.schedule == k1f1b,
          fmt::format("an interleaved schedule with {} virtual stages per GPU", chunks),
          fmt::format("plan.schedule=interleaved plan.chunks={}", chunks), [&](Job& job) {
            job.plan.schedule = kInterleaved;
            job.plan.chunks = chunks;
          });
  }

  void TryMicroBatch(bool larger) {
    const std::int64_t now = job_.training.micro_batch;
    const std::int64_t changed = larger ? 2 * now : now / 2;
    TryIf(larger || now % 2 == 0, fmt::format("micro-batches of {} instead of {}", changed, now),
          fmt::format("training.micro_batch={}", changed),
          [&](Job& job) { job.training.micro_batch = changed; });
  }

  void TryLargerBatch() {
    const std::int64_t batch = 2 * job_.training.global_batch;
    Try("twice the global batch", fmt::format("training.global_batch={}", batch),
        [&](Job& job) { job.training.global_batch = batch; });
  }

  void TryGraphs() {
    TryIf(job_.framework.graphs == workload::CudaGraphs::kOff, "CUDA graphs",
          "framework.graphs=step",
          [](Job& job) { job.framework.graphs = workload::CudaGraphs::kStep; });
  }

  void TryShardedOptimizer() {
    TryIf(job_.plan.sharding == workload::Sharding::kReplicated && job_.plan.dp > 1,
          "an optimizer that is sharded over dp", "plan.sharding=zero1",
          [](Job& job) { job.plan.sharding = workload::Sharding::kOptimizer; });
  }

  void TryFasterNics() {
    const double now = job_.cluster.nics.bandwidth.bytes_per_second;
    const bool is_healthy = options_.faults.empty();  // else they are what to repair
    TryIf(is_healthy && job_.gpus > job_.cluster.island.gpus && now > 0,
          "NICs with twice the bandwidth",
          fmt::format("cluster.nics.gbits_per_second={:g}", 2 * now / kGbit),
          [&](Job& job) { Scenario{.speedups = {{trace::Part::kNics, 2}}}.ApplyTo(job); });
  }

  const Job& job_;
  const SimulationOptions& options_;
  JobScope scope_;
  std::size_t most_;
  std::vector<Variant> variants_;
};

std::vector<Variant> ChangesFor(const Job& job, const SimulationOptions& options,
                                const StepSummary& summary, JobScope scope) {
  Changes changes(job, options, scope, summary.events > kManyEvents ? kFewChanges : kMostChanges);
  const std::optional<BindingStage> binding = BindingStageOf(summary);
  if (binding && IsWorthAWord(binding->excess_ps, summary.step_ps)) {
    changes.MoveLayers(summary);
  }
  for (const Loss& loss : LossesOf(summary.breakdown)) {
    if (IsWorthAWord(loss.ps, summary.step_ps)) {
      changes.AddFor(loss);
    }
  }
  return std::move(changes).Take();
}

std::vector<TriedChange> TryAll(const std::vector<Variant>& variants, const Job& job,
                                const StepSummary& summary, const SimulateVariant& simulate) {
  const std::int64_t step_ps = summary.step_ps;
  std::vector<std::optional<TriedChange>> tried(variants.size());
  ParallelFor(variants.size(), 0, [&](std::size_t i) {
    const Variant& variant = variants[i];
    const Result<VariantStep> step = simulate(variant.job, variant.options);
    if (!step || step_ps <= 0) {
      return;
    }
    const double samples = static_cast<double>(variant.job.training.global_batch) /
                           static_cast<double>(job.training.global_batch);
    tried[i] = TriedChange{
        .what = variant.what,
        .setting = variant.setting,
        .changes_batch = samples != 1,
        .step_ps = step->step_ps,
        .gain = 1 - static_cast<double>(step->step_ps) / samples / static_cast<double>(step_ps),
        .fits = step->fits};
    if (step->breakdown) {
      const learn::TimeInterval ratio = IntervalOfRatio(summary.breakdown, *step->breakdown, job);
      tried[i]->least_gain = 1 - ratio.high_s / samples;
      tried[i]->most_gain = 1 - ratio.low_s / samples;
    }
  });
  std::vector<TriedChange> done;
  for (std::optional<TriedChange>& change : tried) {
    if (change) {
      done.push_back(*std::move(change));
    }
  }
  std::ranges::stable_sort(done, std::greater{}, &TriedChange::gain);
  return done;
}

std::string PercentText(double share) {
  const double percent = 100 * std::abs(share);
  return percent < 9.95 ? fmt::format("{:.1f} %", percent) : fmt::format("{:.0f} %", percent);
}

std::string GainText(const TriedChange& change) {
  const std::string interval =
      change.least_gain ? fmt::format(" ({} to {} %)", std::lround(100 * *change.least_gain),
                                      std::lround(100 * *change.most_gain))
                        : "";
  return change.changes_batch
             ? fmt::format("a sample would take {} less time{}", PercentText(change.gain), interval)
             : fmt::format("the step would be {} shorter{}, {:.4g} s", PercentText(change.gain),
                           interval, static_cast<double>(change.step_ps) * 1e-12);
}

std::string Capitalised(std::string text) {
  text.front() = text.front() >= 'a' && text.front() <= 'z'
                     ? static_cast<char>(text.front() - 'a' + 'A')
                     : text.front();
  return text;
}

}  // namespace

bool TriedChange::IsWorthwhile() const {
  return fits && gain >= kLeastGain;
}

Advice TryChanges(const Job& job, const SimulationOptions& options, const StepSummary& summary,
                  JobScope scope, const SimulateVariant& simulate) {
  Advice advice;
  advice.causes = TryAll(RepairsOf(job, options), job, summary, simulate);
  if (!summary.IsOutOfMemory()) {
    advice.changes = TryAll(ChangesFor(job, options, summary, scope), job, summary, simulate);
  }
  return advice;
}

std::vector<std::string> AdviceSentences(const Advice& advice) {
  std::vector<std::string> sentences;
  std::vector<std::string> in_vain;
  for (const TriedChange& change : advice.changes) {
    if (change.IsWorthwhile()) {
      sentences.push_back(
          fmt::format("{}: {} ({}).", Capitalised(change.what), GainText(change), change.setting));
    } else {
      in_vain.push_back(change.fits
                            ? fmt::format("{} ({} {}{})", change.what, PercentText(change.gain),
                                          change.gain < 0 ? "longer" : "shorter",
                                          change.changes_batch ? " per sample" : "")
                            : fmt::format("{} (does not fit into memory)", change.what));
    }
  }
  if (!in_vain.empty()) {
    sentences.push_back(fmt::format("No gain: {}.", fmt::join(in_vain, ", ")));
  }
  return sentences;
}

std::string CauseSentence(const Advice& advice) {
  // If one alone explains the loss of all together, it is the cause.
  const auto explains = [&](const TriedChange& tried) {
    return tried.gain >= std::max(kLeastGain, kNearlyAll * advice.causes.front().gain);
  };
  const auto cause = std::ranges::find_if(advice.causes.rbegin(), advice.causes.rend(), explains);
  return cause == advice.causes.rend()
             ? ""
             : fmt::format("{}: without that {}. ", Capitalised(cause->what), GainText(*cause));
}

}  // namespace orrery::simulate
