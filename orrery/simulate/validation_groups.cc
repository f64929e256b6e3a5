#include "orrery/simulate/validation_groups.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <span>
#include <string_view>

#include "orrery/base/statistics.h"

namespace orrery::simulate {
namespace {

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

std::string_view ScaleOf(int gpus) {
  return std::ranges::find_if(kScales, [&](const Scale& scale) { return gpus <= scale.most_gpus; })
      ->name;
}

// Collects errors by name, names in the order in which they come.
class Collector {
 public:
  void Name(std::string_view name) { GroupOf(name); }

  void AddEvaluated(std::string_view name, const EvaluatedRun& evaluated) {
    const std::size_t group = GroupOf(name);
    ++groups_[group].figures.rows;
    errors_[group].push_back(evaluated.Error() * kPercent);
  }

  void AddRefused(std::string_view name) { ++groups_[GroupOf(name)].figures.rows; }

  std::vector<ErrorGroup> Finish() {
    std::vector<ErrorGroup> kept;
    for (std::size_t group = 0; group < groups_.size(); ++group) {
      if (groups_[group].figures.rows > 0) {
        SetErrors(errors_[group], groups_[group].figures);
        kept.push_back(groups_[group]);
      }
    }
    return kept;
  }

  static void SetErrors(std::span<const double> errors, ErrorFigures& figures) {
    std::vector<double> sizes;
    for (const double error : errors) {
      sizes.push_back(std::abs(error));
    }
    figures.simulated = sizes.size();
    figures.mape = Mean(sizes);
    figures.median = Median(sizes);
    figures.max = sizes.empty() ? std::nan("") : std::ranges::max(sizes);
    figures.bias = Mean(errors);
  }

 private:
  std::size_t GroupOf(std::string_view name) {
    const auto found = std::ranges::find(groups_, name, &ErrorGroup::name);
    if (found != groups_.end()) {
      return static_cast<std::size_t>(found - groups_.begin());
    }
    groups_.push_back({std::string(name), {}});
    errors_.emplace_back();
    return groups_.size() - 1;
  }

  std::vector<ErrorGroup> groups_;
  std::vector<std::vector<double>> errors_;
};

void AddEvaluated(const EvaluatedRun& evaluated, GroupKey key, Collector& collector) {
  const workload::PublishedRun& run = evaluated.run;
  switch (key) {
    case GroupKey::kSource:
      return collector.AddEvaluated(run.source, evaluated);
    case GroupKey::kGrade:
      return collector.AddEvaluated(run.grade.empty() ? "none" : run.grade, evaluated);
    case GroupKey::kGpu:
      return collector.AddEvaluated(run.job.gpu.name, evaluated);
    case GroupKey::kScale:
      return collector.AddEvaluated(ScaleOf(run.job.gpus), evaluated);
    case GroupKey::kDimension:
      for (const Dimension& dimension : kDimensions) {
        if (dimension.has(run.job.plan)) {
          collector.AddEvaluated(dimension.name, evaluated);
        }
      }
      return;
  }
}

void NameInOrder(GroupKey key, Collector& collector) {
  if (key == GroupKey::kScale) {
    for (const Scale& scale : kScales) {
      collector.Name(scale.name);
    }
  } else if (key == GroupKey::kDimension) {
    for (const Dimension& dimension : kDimensions) {
      collector.Name(dimension.name);
    }
  }
}

}  // namespace

ErrorFigures FiguresOf(const Validation& validation) {
  ErrorFigures figures;
  std::vector<double> errors;
  for (const EvaluatedRun& evaluated : validation.evaluated) {
    errors.push_back(evaluated.Error() * kPercent);
  }
  Collector::SetErrors(errors, figures);
  figures.rows = validation.rows;
  return figures;
}

std::vector<ErrorGroup> GroupsOf(const Validation& validation, GroupKey key) {
  Collector collector;
  NameInOrder(key, collector);
  for (const EvaluatedRun& evaluated : validation.evaluated) {
    AddEvaluated(evaluated, key, collector);
  }
  for (const RefusedRun& refused : validation.refused) {
    if (key == GroupKey::kSource) {
      collector.AddRefused(refused.source);
    } else if (key == GroupKey::kGrade) {
      collector.AddRefused(refused.grade.empty() ? "none" : refused.grade);
    }
  }
  return collector.Finish();
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
      groups.push_back({refused.reason, 1, refused.id});
    }
  }
  std::ranges::stable_sort(groups, std::greater<>(), &RefusalGroup::rows);
  return groups;
}

}  // namespace orrery::simulate
