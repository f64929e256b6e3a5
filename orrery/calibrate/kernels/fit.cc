#include "orrery/calibrate/kernels/fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <ranges>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "orrery/base/check.h"
#include "orrery/base/error.h"
#include "orrery/base/math/statistics.h"
#include "orrery/calibrate/kernels/evaluation.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/data_type.h"
#include "orrery/kernel/efficiency.h"
#include "orrery/kernel/estimate.h"
#include "orrery/kernel/features.h"
#include "orrery/kernel/measured/measurement.h"
#include "orrery/kernel/model_set.h"
#include "orrery/kernel/operator.h"
#include "orrery/kernel/power.h"
#include "orrery/kernel/work.h"
#include "orrery/learn/boosted_trees.h"
#include "orrery/learn/data_set.h"
#include "orrery/learn/forest.h"

namespace orrery::calibrate {
namespace {

using kernel::BoundOf;
using kernel::EfficiencyModel;
using kernel::Estimate;
using kernel::EstimateSource;
using kernel::FeatureNames;
using kernel::FeatureRow;
using kernel::FeaturesOf;
using kernel::HasBothGradients;
using kernel::kMaxFields;
using kernel::LaunchFloor;
using kernel::Measurement;
using kernel::ModelSet;
using kernel::OperatorKind;
using kernel::OperatorTypeNumber;
using kernel::SiblingLevel;
using kernel::SustainedSeconds;
using kernel::Timing;
using kernel::WorkOf;

/// Small times are noisy: below this multiple of the shortest, rows of a group measure only the
/// launch.
constexpr double kFloorQuantile = 0.02;

/// Of ln(measured / predicted), beyond which residuals count linearly.
constexpr double kRobustScale = 0.1;
constexpr std::size_t kFewRows = 1000;
constexpr std::size_t kSomeRows = 5000;
constexpr std::size_t kManyRows = 40000;

double FloorOf(std::span<const Measurement* const> rows) {
  std::vector<double> times;
  times.reserve(rows.size());
  for (const Measurement* row : rows) {
    times.push_back(row->seconds);
  }
  const auto at = static_cast<std::ptrdiff_t>(kFloorQuantile * static_cast<double>(times.size()));
  std::ranges::nth_element(times, times.begin() + at);
  return times[static_cast<std::size_t>(at)];
}

double RooflineOf(const Measurement& row) {
  return BoundOf(row.op, WorkOf(row.op), *row.gpu).Seconds();
}

/// Variance of ln(measured / joined).
double LeftToLearn(std::span<const Measurement* const> rows, const LaunchFloor& floor) {
  double sum = 0;
  double sum_of_squares = 0;
  for (const Measurement* row : rows) {
    const double left = std::log(row->seconds / floor.Join(RooflineOf(*row)));
    sum += left;
    sum_of_squares += left * left;
  }
  const auto count = static_cast<double>(rows.size());
  return sum_of_squares / count - (sum / count) * (sum / count);
}

LaunchFloor FitFloor(std::span<const Measurement* const> rows) {
  LaunchFloor best{FloorOf(rows), 1};
  for (const double sharpness : {1.0, 2.0, 4.0}) {
    const LaunchFloor candidate{best.seconds, sharpness};
    if (LeftToLearn(rows, candidate) < LeftToLearn(rows, best)) {
      best = candidate;
    }
  }
  return best;
}

EfficiencyModel::Domain DomainOf(const MeasurementGroup& group) {
  EfficiencyModel::Domain domain;
  domain.kind = group.kind;
  domain.gpu = group.gpu->name;
  domain.timing = group.timing;
  domain.rows = group.rows.size();
  bool is_first = true;
  for (const Measurement* row : group.rows) {
    domain.types.set(OperatorTypeNumber(row->op.type()));
    for (std::size_t i = 0; i < kMaxFields; ++i) {
      const std::int64_t value = row->op.values()[i];
      EfficiencyModel::Range& range = domain.range_of_field[i];
      range.least = is_first ? value : std::min(range.least, value);
      range.most = is_first ? value : std::max(range.most, value);
    }
    is_first = false;
  }
  return domain;
}

learn::DataSet DataSetOf(const MeasurementGroup& group, const LaunchFloor& floor) {
  learn::DataSet data(FeatureNames(group.kind), {"duplicate"});
  for (const Measurement* row : group.rows) {
    const FeatureRow features = FeaturesOf(row->op, *row->gpu);
    data.Append({.features = features.values(),
                 .target = std::log(row->seconds / floor.Join(RooflineOf(*row))),
                 .groups = {DuplicateKey(row->op)}});
  }
  return data;
}

/// Few rows support only shallow trees; many rows need depth and a small learning rate. Eager times
/// depend on little more than sizes: deeper trees made models larger, not better. Chosen on
/// development splits (docs/design/0004-kernel-models.md).
learn::BoostedTreesOptions OptionsFor(const MeasurementGroup& group,
                                      const KernelFitOptions& options) {
  learn::BoostedTreesOptions trees;
  trees.seed = static_cast<std::uint32_t>(options.seed);
  trees.threads = options.threads;
  trees.row_share = 0.8;
  trees.patience = 40;
  trees.max_rounds = 400;
  const std::size_t num_rows = group.rows.size();
  trees.min_child_weight = num_rows < kFewRows ? 2 : 4;
  trees.learning_rate = num_rows < kManyRows ? 0.08 : 0.1;
  // Libraries choose among algorithms: where one shape in ten takes ten times as long, squares
  // would have all ten predicted too slow.
  trees.robust_scale = group.timing == Timing::kKernels ? kRobustScale : 0;
  return trees;
}

/// Depths of trees to try. Between few and many rows the kinds differ.
std::vector<int> DepthsFor(const MeasurementGroup& group) {
  const std::size_t num_rows = group.rows.size();
  if (num_rows < kFewRows) {
    return {5};
  }
  if (group.timing == Timing::kEager) {
    return {num_rows < kSomeRows ? 6 : 7};
  }
  if (num_rows < kSomeRows) {
    return {6, 9};
  }
  return {num_rows < kManyRows ? 9 : 10};
}

double Deviation(const learn::Forest& forest, const learn::DataSet& data,
                 std::span<const learn::RowIndex> rows) {
  const std::vector<double> predicted = forest.PredictRows(data.FeaturesOf(rows));
  const std::vector<double> measured = data.TargetsOf(rows);
  double squares = 0;
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    squares += (predicted[i] - measured[i]) * (predicted[i] - measured[i]);
  }
  return std::sqrt(squares / static_cast<double>(std::max<std::size_t>(predicted.size(), 1)));
}

struct Probe {
  int depth = 0;
  int num_trees = 0;
  double deviation = 0;
};

Result<Probe> BestProbe(const learn::DataSet& data, const learn::Split& split,
                        learn::BoostedTreesOptions options, std::span<const int> depths) {
  Probe best;
  for (const int depth : depths) {
    options.max_depth = depth;
    ORRERY_TRY(const learn::BoostedTrees trees,
               learn::TrainBoostedTrees(data, split.training(), options));
    const double deviation = Deviation(trees.forest, data, split.validation);
    if (best.depth == 0 || deviation < best.deviation) {
      best = {depth, static_cast<int>(trees.forest.num_trees()), deviation};
    }
  }
  return best;
}

/// Ten launches of an eager framework (30 µs): from here on kernels dominate.
constexpr double kLeastEagerSeconds = 300e-6;
constexpr auto kTimings = std::to_array({Timing::kKernels, Timing::kReplay, Timing::kEager});
using Rows = std::vector<const Measurement*>;

std::vector<Rows> GroupsOf(std::span<const Measurement> rows) {
  std::map<std::tuple<std::string_view, OperatorKind, std::size_t>, Rows> groups;
  for (const Measurement& row : rows) {
    if (row.timing != Timing::kEager || row.seconds >= kLeastEagerSeconds) {
      groups[{row.gpu->name, row.op.kind(), OperatorTypeNumber(row.op.type())}].push_back(&row);
    }
  }
  const auto sorted = groups | std::views::values;
  return {sorted.begin(), sorted.end()};
}

/// ln(measured / predicted) of each row; nothing if no sibling model exists.
std::optional<std::vector<double>> LogsOf(const ModelSet& models, const Rows& rows, Timing timing) {
  std::vector<double> logs;
  for (const Measurement* row : rows) {
    Estimate estimate;
    models.PredictAs(timing, {&row->op, 1}, *row->gpu, {&estimate, 1}, 1);
    if (estimate.source != EstimateSource::kSibling) {
      return std::nullopt;
    }
    const double seconds = row->is_sustained
                               ? SustainedSeconds(row->op, *row->gpu, estimate.seconds)
                               : estimate.seconds;
    logs.push_back(std::log(row->seconds / seconds));
  }
  return logs;
}

double DeviationFrom(double mean, std::span<const double> logs) {
  double squares = 0;
  for (const double log : logs) {
    squares += (log - mean) * (log - mean);
  }
  return std::sqrt(squares / static_cast<double>(logs.size()));
}

std::optional<SiblingLevel> LevelOf(const ModelSet& models, const Rows& rows) {
  const Measurement& first = *rows.front();
  SiblingLevel level;
  level.gpu = first.gpu->name;
  level.kind = first.op.kind();
  level.type = first.op.type();
  level.rows = rows.size();
  for (const Timing timing : kTimings) {
    const std::optional<std::vector<double>> logs = LogsOf(models, rows, timing);
    if (!logs) {
      return std::nullopt;
    }
    const double mean = Mean(*logs);
    level.factor_of_timing[static_cast<std::size_t>(timing)] = std::exp(mean);
    level.deviation = std::max(level.deviation, DeviationFrom(mean, *logs));
  }
  return level;
}

}  // namespace

std::vector<MeasurementGroup> GroupMeasurements(std::span<const Measurement> rows) {
  std::map<std::tuple<std::string_view, Timing, OperatorKind>, MeasurementGroup> groups;
  for (const Measurement& row : rows) {
    if (HasBothGradients(row.op)) {
      continue;  // predicted as the sum of two operators that have rows of their own
    }
    if (row.is_sustained) {
      continue;  // models are of bursts; power makes of them what lasts
    }
    MeasurementGroup& group = groups[{row.gpu->name, row.timing, row.op.kind()}];
    group.kind = row.op.kind();
    group.gpu = row.gpu;
    group.timing = row.timing;
    group.rows.push_back(&row);
  }
  const auto sorted = groups | std::views::values;
  return {sorted.begin(), sorted.end()};
}

Result<EfficiencyModel> FitEfficiency(const MeasurementGroup& group,
                                      const KernelFitOptions& options) {
  ORRERY_CHECK(group.rows.size() >= kFewestRows, "too few rows to learn from");
  const LaunchFloor floor = FitFloor(group.rows);
  const learn::DataSet data = DataSetOf(group, floor);
  const learn::Split split = learn::SplitAtRandom(
      data, {.validation_share = options.validation_share, .seed = options.seed}, 0);
  learn::BoostedTreesOptions trees = OptionsFor(group, options);
  ORRERY_TRY(const Probe best, BestProbe(data, split, trees, DepthsFor(group)));
  trees.max_depth = best.depth;
  trees.max_rounds = best.num_trees;
  const std::vector<learn::RowIndex> all = data.AllRows();
  ORRERY_TRY(const learn::BoostedTrees final, learn::TrainBoostedTrees(data, {all, {}}, trees));
  return EfficiencyModel(DomainOf(group), floor, best.deviation,
                         learn::RoundedForShipping(final.forest));
}

Result<ModelSet> FitModels(std::span<const Measurement> rows, const KernelFitOptions& options,
                           const KernelFitProgress& progress) {
  ModelSet models;
  const std::vector<MeasurementGroup> groups = GroupMeasurements(rows);
  std::size_t done = 0;
  for (const MeasurementGroup& group : groups) {
    progress(done++, groups.size());
    if (group.rows.size() >= kFewestRows) {
      ORRERY_TRY(EfficiencyModel model, FitEfficiency(group, options));
      models.Add(std::move(model));
    }
  }
  return models;
}

std::vector<SiblingLevel> FitSiblingLevels(const ModelSet& models,
                                           std::span<const Measurement> rows) {
  ModelSet unlevelled = models;
  unlevelled.SetLevels({});
  std::vector<SiblingLevel> levels;
  for (const Rows& group : GroupsOf(rows)) {
    if (group.size() < kFewestRowsOfLevel) {
      continue;
    }
    if (std::optional<SiblingLevel> level = LevelOf(unlevelled, group)) {
      levels.push_back(*std::move(level));
    }
  }
  return levels;
}

}  // namespace orrery::calibrate
