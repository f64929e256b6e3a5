#include "orrery/calibrate/validation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/error.h"
#include "orrery/base/math/statistics.h"
#include "orrery/kernel/estimate.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/simulate/explain/baselines.h"
#include "orrery/simulate/explain/breakdown.h"
#include "orrery/simulate/explain/interval.h"
#include "orrery/simulate/explain/memory_timeline.h"
#include "orrery/simulate/explain/step_intervals.h"
#include "orrery/simulate/simulation.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/published/published_run.h"
#include "orrery/workload/job/published/run_table.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::calibrate {
namespace {

using simulate::AllocatedBytes;
using simulate::BaselinesOf;
using simulate::Breakdown;
using simulate::BreakdownOf;
using simulate::MemoryAnswer;
using simulate::MemoryAnswerOf;
using simulate::RankClassId;
using simulate::ShippedIntervals;
using simulate::Simulate;
using simulate::Simulation;
using simulate::SimulationOptions;
using simulate::SlowestOfPrograms;
using simulate::TraitsOf;

constexpr double kPicoseconds = 1e12;
constexpr double kClearlyTooMuch = 1.3;  // memory is predicted within that
constexpr std::int64_t kLargestMicroBatch = 8;
constexpr double kWorthIt = 0.95;  // of the time: less is not gained by giving away memory

/// The simulator of runs.
struct Engine {
  const kernel::CostModel& costs;
  const SimulationOptions& options;
};

Status SimulateRun(const Engine& engine, EvaluatedRun& evaluated) {
  const workload::Job& job = evaluated.run.job;
  ORRERY_TRY(const Simulation simulation, Simulate(job, engine.costs, engine.options));
  evaluated.predicted_s = static_cast<double>(simulation.step_ps()) / kPicoseconds;
  const RankClassId first = SlowestOfPrograms(simulation.rank_classes, simulation.timeline).front();
  const Breakdown breakdown = BreakdownOf(simulation.rank_classes, simulation.timeline, first);
  evaluated.traits = TraitsOf(breakdown, job, simulation.generated->coverage);
  evaluated.interval = ShippedIntervals().Around(evaluated.predicted_s, evaluated.traits);
  const MemoryAnswer memory = MemoryAnswerOf(simulation.rank_classes, simulation.timeline, job);
  evaluated.memory_bytes = memory.stages[memory.fullest].needed_bytes;
  evaluated.allocated_bytes = AllocatedBytes(memory.stages.back(), job.gpu);
  evaluated.fits = memory.fits();
  return {};
}

// No step is shorter than its forward pass at the highest peak of any number format: such a row
// times a layer, or another job than it states.
Status CheckFloor(const workload::PublishedRun& run) {
  constexpr double kForwardShare = 1.0 / 3;
  double peak = 0;
  for (const auto& [type, flops] : run.job.gpu.peak_flops) {
    peak = std::max(peak, flops);
  }
  const double floor_s =
      peak > 0 ? kForwardShare * BaselinesOf(run.job).model_flops / (peak * run.job.gpus) : 0;
  if (run.measured_s >= floor_s) {
    return {};
  }
  return Fail(Error::Kind::kUnsupported,
              fmt::format("{:.4g} s are less than a forward pass at the peak of the GPUs takes, "
                          "{:.4g} s: the row does not time a whole step",
                          run.measured_s, floor_s));
}

// The first that fits, or the last that the GPUs of a node allow.
Status ChooseTensor(const Engine& engine, EvaluatedRun& evaluated) {
  while (!evaluated.fits) {
    EvaluatedRun wider = evaluated;
    if (!workload::CutTensorsFurther(wider.run.job) || !workload::CheckJob(wider.run.job)) {
      break;
    }
    ORRERY_TRY_STATUS(SimulateRun(engine, wider));
    evaluated = std::move(wider);
  }
  evaluated.run.assumptions.push_back(
      fmt::format("tensor parallelism {}", evaluated.run.job.plan.tp));
  return {};
}

// Larger ones only as long as they help: work grows more efficient, bubbles grow longer.
Status ChooseMicroBatch(const Engine& engine, EvaluatedRun& evaluated) {
  // Experts get as many tokens as choose them, so that it is not known how many samples fit.
  const std::int64_t most = workload::HasExperts(evaluated.run.job.model) ? 1 : kLargestMicroBatch;
  for (std::int64_t samples = 2; samples <= most && evaluated.fits; samples *= 2) {
    EvaluatedRun larger = evaluated;
    larger.run.job.training.micro_batch = samples;
    if (!workload::CheckJob(larger.run.job)) {
      break;
    }
    ORRERY_TRY_STATUS(SimulateRun(engine, larger));
    if (!larger.fits || larger.predicted_s > kWorthIt * evaluated.predicted_s) {
      break;
    }
    evaluated = std::move(larger);
  }
  evaluated.run.assumptions.push_back(
      fmt::format("micro-batch {}", evaluated.run.job.training.micro_batch));
  return {};
}

// It did run: where its memory would not nearly do otherwise, everything was recomputed.
Status ChooseRecompute(const Engine& engine, EvaluatedRun& evaluated) {
  const auto memory_bytes = static_cast<double>(evaluated.run.job.gpu.memory_size.count);
  if (static_cast<double>(evaluated.memory_bytes) <= kClearlyTooMuch * memory_bytes) {
    return {};
  }
  evaluated.run.job.plan.recompute = workload::Recompute::kFull;
  evaluated.run.assumptions.push_back("full recomputation, since nothing less fits");
  return SimulateRun(engine, evaluated);
}

constexpr double kPercent = 100;

struct Scale {
  int most_gpus;
  std::string_view name;
};

constexpr std::array<Scale, 6> kScales{{{1, "1 GPU"},
                                        {8, "2-8 GPUs"},
                                        {64, "9-64 GPUs"},
                                        {512, "65-512 GPUs"},
                                        {4096, "513-4096 GPUs"},
                                        {1 << 30, "over 4096 GPUs"}}};

struct Dimension {
  std::string_view name;
  bool (*has)(const workload::Plan& plan);
};

using workload::Plan;

constexpr std::array<Dimension, 10> kDimensions{{
    {"no parallelism", [](const Plan& plan) { return plan.dp * plan.tp * plan.pp * plan.cp == 1; }},
    {"data", [](const Plan& plan) { return plan.dp > 1; }},
    {"data, sharded",
     [](const Plan& plan) {
       return plan.dp > 1 && (plan.sharding == workload::Sharding::kParameters ||
                              plan.sharding == workload::Sharding::kKeepGathered);
     }},
    {"tensor", [](const Plan& plan) { return plan.tp > 1; }},
    {"tensor, sequence", [](const Plan& plan) { return plan.tp > 1 && plan.sequence_parallel; }},
    {"pipeline", [](const Plan& plan) { return plan.pp > 1; }},
    {"pipeline, interleaved", [](const Plan& plan) { return plan.pp > 1 && plan.chunks > 1; }},
    {"context", [](const Plan& plan) { return plan.cp > 1; }},
    {"expert", [](const Plan& plan) { return plan.ep > 1; }},
    {"recomputation",
     [](const Plan& plan) { return plan.recompute != workload::Recompute::kNothing; }},
}};

struct Rows {
  std::string name;
  std::size_t count = 0;
  std::vector<double> errors = {};  // percent
  std::size_t covered = 0;

  void Add(const EvaluatedRun& evaluated) {
    errors.push_back(evaluated.Error() * kPercent);
    covered += evaluated.interval.Contains(evaluated.run.measured_s) ? 1 : 0;
  }
};

ErrorFigures FiguresOf(const Rows& rows) {
  std::vector<double> sizes;
  for (const double error : rows.errors) {
    sizes.push_back(std::abs(error));
  }
  return {.rows = rows.count,
          .simulated = sizes.size(),
          .mape = Mean(sizes),
          .median = Median(sizes),
          .max = sizes.empty() ? std::nan("") : std::ranges::max(sizes),
          .bias = Mean(rows.errors),
          .coverage = sizes.empty() ? std::nan("")
                                    : kPercent * static_cast<double>(rows.covered) /
                                          static_cast<double>(sizes.size())};
}

std::string GradeName(const std::string& grade) {
  return grade.empty() ? "none" : grade;
}

std::vector<std::string> NamesOf(const workload::PublishedRun& run, GroupKey key) {
  std::vector<std::string> names;
  switch (key) {
    case GroupKey::kSource:
      return {run.source};
    case GroupKey::kTeam:
      return {run.team};
    case GroupKey::kStack:
      return {run.stack};
    case GroupKey::kRelease:
      return {fmt::format("{}, {}", run.team, run.release)};
    case GroupKey::kGrade:
      return {GradeName(run.grade)};
    case GroupKey::kGpu:
      return {run.job.gpu.name};
    case GroupKey::kScale:
      names.emplace_back(
          std::ranges::lower_bound(kScales, run.job.gpus, {}, &Scale::most_gpus)->name);
      break;
    case GroupKey::kDimension:
      for (const Dimension& dimension : kDimensions) {
        if (dimension.has(run.job.plan)) {
          names.emplace_back(dimension.name);
        }
      }
      break;
  }
  return names;
}

// Nothing where only a job tells the group.
std::optional<std::string> NameOf(const workload::RunLabel& label, GroupKey key) {
  switch (key) {
    case GroupKey::kSource:
      return label.source;
    case GroupKey::kTeam:
      return label.team;
    case GroupKey::kStack:
      return label.stack;
    case GroupKey::kRelease:
      return fmt::format("{}, {}", label.team, label.release);
    case GroupKey::kGrade:
      return GradeName(label.grade);
    default:
      return std::nullopt;
  }
}

// Scales and dimensions have an order of their own.
std::vector<Rows> OrderedGroups(GroupKey key) {
  std::vector<Rows> groups;
  for (const Scale& scale : kScales) {
    if (key == GroupKey::kScale) {
      groups.push_back({std::string(scale.name)});
    }
  }
  for (const Dimension& dimension : kDimensions) {
    if (key == GroupKey::kDimension) {
      groups.push_back({std::string(dimension.name)});
    }
  }
  return groups;
}

Rows& GroupNamed(const std::string& name, std::vector<Rows>& groups) {
  const auto found = std::ranges::find(groups, name, &Rows::name);
  return found != groups.end() ? *found : groups.emplace_back(Rows{name});
}

}  // namespace

Result<EvaluatedRun> EvaluateRun(workload::PublishedRun run, const kernel::CostModel& costs,
                                 const SimulationOptions& options) {
  const Engine engine{costs, options};
  EvaluatedRun evaluated;
  evaluated.run = std::move(run);
  ORRERY_TRY_STATUS(CheckFloor(evaluated.run));
  ORRERY_TRY_STATUS(SimulateRun(engine, evaluated));
  if (evaluated.run.tensor_is_open) {
    ORRERY_TRY_STATUS(ChooseTensor(engine, evaluated));
  }
  if (evaluated.run.micro_batch_is_open) {
    ORRERY_TRY_STATUS(ChooseMicroBatch(engine, evaluated));
  }
  if (evaluated.run.recompute_is_open) {
    ORRERY_TRY_STATUS(ChooseRecompute(engine, evaluated));
  }
  return evaluated;
}

ErrorFigures FiguresOf(const Validation& validation) {
  Rows all{.name = "", .count = validation.rows};
  for (const EvaluatedRun& evaluated : validation.evaluated) {
    all.Add(evaluated);
  }
  return FiguresOf(all);
}

std::vector<ErrorGroup> GroupsOf(const Validation& validation, GroupKey key) {
  std::vector<Rows> groups = OrderedGroups(key);
  for (const EvaluatedRun& evaluated : validation.evaluated) {
    for (const std::string& name : NamesOf(evaluated.run, key)) {
      Rows& group = GroupNamed(name, groups);
      ++group.count;
      group.Add(evaluated);
    }
  }
  for (const RefusedRun& refused : validation.refused) {
    if (const auto name = NameOf(refused.label, key)) {
      ++GroupNamed(*name, groups).count;
    }
  }
  std::vector<ErrorGroup> kept;
  for (const Rows& group : groups) {
    if (group.count > 0) {
      kept.push_back({group.name, FiguresOf(group)});
    }
  }
  return kept;
}

MemoryFigures MemoryFiguresOf(const Validation& validation) {
  std::vector<double> errors;
  std::vector<double> sizes;
  for (const EvaluatedRun& evaluated : validation.evaluated) {
    if (const auto error = evaluated.MemoryError()) {
      errors.push_back(*error * kPercent);
      sizes.push_back(std::abs(*error) * kPercent);
    }
  }
  return {.rows = errors.size(),
          .mape = Mean(sizes),
          .median = Median(sizes),
          .max = sizes.empty() ? std::nan("") : std::ranges::max(sizes),
          .bias = Mean(errors)};
}

std::vector<std::pair<std::string, MemoryFigures>> MemoryByGpu(const Validation& validation) {
  std::vector<std::pair<std::string, Validation>> parts;
  for (const EvaluatedRun& evaluated : validation.evaluated) {
    const std::string& gpu = evaluated.run.job.gpu.name;
    if (evaluated.MemoryError()) {
      auto found = std::ranges::find(parts, gpu, &std::pair<std::string, Validation>::first);
      found = found == parts.end() ? parts.insert(found, {gpu, {}}) : found;
      found->second.evaluated.push_back(evaluated);
    }
  }
  std::vector<std::pair<std::string, MemoryFigures>> figures;
  for (const auto& [gpu, part] : parts) {
    figures.emplace_back(gpu, MemoryFiguresOf(part));
  }
  return figures;
}

std::vector<const EvaluatedRun*> WorstRuns(const Validation& validation, std::size_t count) {
  std::vector<const EvaluatedRun*> runs;
  for (const EvaluatedRun& evaluated : validation.evaluated) {
    runs.push_back(&evaluated);
  }
  std::ranges::stable_sort(runs, std::greater{},
                           [](const EvaluatedRun* run) { return std::abs(run->Error()); });
  runs.resize(std::min(count, runs.size()));
  return runs;
}

std::vector<RefusalGroup> RefusalsOf(const Validation& validation) {
  std::vector<RefusalGroup> groups;
  for (const RefusedRun& refused : validation.refused) {
    const auto found = std::ranges::find(groups, refused.reason, &RefusalGroup::reason);
    if (found != groups.end()) {
      ++found->rows;
    } else {
      groups.push_back({refused.reason, 1, refused.label.id});
    }
  }
  std::ranges::stable_sort(groups, std::greater<>(), &RefusalGroup::rows);
  return groups;
}

}  // namespace orrery::calibrate
