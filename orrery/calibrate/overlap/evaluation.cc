#include "orrery/calibrate/overlap/evaluation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/error.h"
#include "orrery/base/math/mix_bits.h"
#include "orrery/base/math/statistics.h"
#include "orrery/learn/data_set.h"
#include "orrery/learn/metrics.h"
#include "orrery/overlap/analytic_model.h"
#include "orrery/overlap/concurrent_kernels.h"
#include "orrery/overlap/features.h"
#include "orrery/overlap/learned_model.h"
#include "orrery/overlap/pair_table.h"

namespace orrery::calibrate {
namespace {

using overlap::AnalyticModel;
using overlap::Arrival;
using overlap::ArrivalOf;
using overlap::AsPlanned;
using overlap::CommunicationKernel;
using overlap::KernelOverlap;
using overlap::KernelOverlapFeatureGroups;
using overlap::KernelOverlapOf;
using overlap::kUnknown;
using overlap::LearnedModel;
using overlap::MeasuredPair;
using overlap::Mode;
using overlap::Pair;
using overlap::Pattern;
using overlap::PatternName;
using overlap::Place;
using overlap::PlaceName;
using overlap::SimulateOverlap;
using overlap::Slowdown;
using Rows = std::span<const MeasuredPair* const>;

constexpr auto kHeldOutNames =
    std::to_array<std::string_view>({"kernel", "width", "pattern", "place", "row"});
constexpr double kTestShare = 0.25;
constexpr double kConstantFactor = 1.3;  // the baseline of Echo
// Interior widths of all magnitudes.
constexpr auto kHeldOutWidths = std::to_array<std::int64_t>({4, 16, 32});

bool IsDrawn(std::string_view text, std::uint64_t seed) {
  std::uint64_t hash = seed;
  for (const char letter : text) {
    hash = MixBits(hash ^ static_cast<unsigned char>(letter));
  }
  return static_cast<double>(hash >> 11) * 0x1.0p-53 < kTestShare;
}

bool IsTest(const MeasuredPair& row, HeldOut what, std::uint64_t seed) {
  switch (what) {
    case HeldOut::kKernel:
      return IsDrawn(row.kernel, seed);
    case HeldOut::kWidth:
      return std::ranges::find(kHeldOutWidths, row.pair.communication.shape.blocks) !=
             kHeldOutWidths.end();
    case HeldOut::kPattern:
      return row.pair.communication.pattern == Pattern::kLowLatency128;
    case HeldOut::kPlace:
      return row.pair.communication.place == Place::kCache;
    case HeldOut::kRow:
      return IsDrawn(fmt::format("{}:{}", row.file, row.line), seed);
  }
  return false;
}

/// Predicts the time of the compute kernel and the delay of the second kernel.
struct Predictor {
  std::string name;
  std::function<double(const MeasuredPair&)> together_us;
  std::function<double(const MeasuredPair&)> delay_us;
};

std::vector<EvaluatedPair> Predicted(const Predictor& predictor, Rows rows) {
  std::vector<EvaluatedPair> evaluated;
  for (const MeasuredPair* row : rows) {
    const bool is_late = row->mode == Mode::kArrival && row->compute_is_first;
    evaluated.push_back({.row = row,
                         .predicted_us = predictor.together_us(*row),
                         .predicted_delay_us = is_late ? predictor.delay_us(*row) : 0});
  }
  return evaluated;
}

/// Simulates overlaps from one slowdown and one delay.
Predictor SimulatedPredictor(const std::string& name,
                             std::function<Slowdown(const MeasuredPair&)> slowdown_of,
                             const std::function<double(const MeasuredPair&)>& delay_us) {
  return {name,
          [slowdown_of = std::move(slowdown_of), delay_us](const MeasuredPair& row) {
            const double alone_us = row.pair.compute.alone_us;
            const Slowdown slowdown = slowdown_of(row);
            const std::optional<KernelOverlap> overlap = KernelOverlapOf(row);
            return overlap ? SimulateOverlap(alone_us, *overlap, slowdown, delay_us(row)).compute_us
                           : alone_us * slowdown.compute;
          },
          delay_us};
}

double NoDelay(const MeasuredPair& /*row*/) {
  return 0;
}

PredictorEvaluation EvaluateRows(const std::string& name, std::span<const EvaluatedPair> rows) {
  std::vector<double> predicted;
  std::vector<double> measured;
  std::vector<double> logs;
  for (const EvaluatedPair& row : rows) {
    predicted.push_back(row.predicted_us);
    measured.push_back(row.row->together_us);
    logs.push_back(std::log(row.row->together_us / row.row->pair.compute.alone_us));
  }
  PredictorEvaluation evaluation{.name = name, .duration = learn::Evaluate(predicted, measured)};
  const double mean = Mean(logs);
  double spread = 0;
  double error = 0;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    const double predicted_log = std::log(predicted[i] / rows[i].row->pair.compute.alone_us);
    spread += (logs[i] - mean) * (logs[i] - mean);
    error += (logs[i] - predicted_log) * (logs[i] - predicted_log);
  }
  evaluation.r2_of_slowdown = 1 - error / spread;
  return evaluation;
}

Predictor Constant(const std::string& name, double factor) {
  return SimulatedPredictor(
      name, [factor](const MeasuredPair&) { return Slowdown{.compute = factor}; }, NoDelay);
}

// The median slowdown of each kernel name in the training rows; of all rows for other names.
Predictor MedianOfName(Rows train) {
  std::map<std::string, std::vector<double>> of_name;
  for (const MeasuredPair* row : train) {
    if (row->mode == Mode::kSteady) {
      const double slowdown = row->together_us / row->pair.compute.alone_us;
      of_name[row->name].push_back(slowdown);
      of_name[""].push_back(slowdown);
    }
  }
  std::map<std::string, double> median;
  for (auto& [name, values] : of_name) {
    median[name] = Median(values);
  }
  const auto slowdown_of = [median](const MeasuredPair& row) {
    const auto found = median.find(row.name);
    const auto any = median.find("");
    return Slowdown{.compute = found != median.end() ? found->second
                               : any != median.end() ? any->second
                                                     : 1};
  };
  return SimulatedPredictor("median of the kernel's name", slowdown_of, NoDelay);
}

Arrival ArrivalIn(const MeasuredPair& row) {
  return ArrivalOf(row.pair, KernelOverlapOf(row).value_or(KernelOverlap{}));
}

Predictor Analytic() {
  return SimulatedPredictor(
      "arithmetic",
      [](const MeasuredPair& row) { return AnalyticModel().SlowdownOf(row.machine, row.pair); },
      [](const MeasuredPair& row) {
        return AnalyticModel().DelayUs(row.machine, row.pair, ArrivalIn(row));
      });
}

Predictor Learned(const LearnedModel& model, const std::string& name, bool as_planned) {
  const auto pair_of = [as_planned](const MeasuredPair& row) {
    return as_planned ? AsPlanned(row.pair) : row.pair;
  };
  return {name,
          [&model, pair_of](const MeasuredPair& row) {
            const Pair pair = pair_of(row);
            const std::optional<KernelOverlap> overlap = KernelOverlapOf(row);
            return overlap ? model.TogetherUs(row.machine, pair, *overlap)
                           : pair.compute.alone_us * model.SlowdownOf(row.machine, pair).compute;
          },
          [&model, pair_of](const MeasuredPair& row) {
            return model.DelayUs(row.machine, pair_of(row), ArrivalIn(row));
          }};
}

DelayEvaluation DelaysOf(std::span<const EvaluatedPair> rows) {
  DelayEvaluation evaluation;
  std::vector<double> errors;
  std::size_t predicted = 0;
  std::size_t both = 0;
  for (const EvaluatedPair& row : rows) {
    const double measured = row.row->communication_delay_us;
    if (row.row->mode != Mode::kArrival || !row.row->compute_is_first || std::isnan(measured)) {
      continue;
    }
    const bool is_predicted = row.predicted_delay_us > 0;
    predicted += is_predicted ? 1 : 0;
    if (measured > kLeastDelayUs) {
      ++evaluation.waited;
      both += is_predicted ? 1 : 0;
      errors.push_back(100 * std::abs(row.predicted_delay_us / measured - 1));
    }
  }
  evaluation.median_error = errors.empty() ? kUnknown : Median(errors);
  evaluation.precision =
      100 * static_cast<double>(both) / static_cast<double>(std::max<std::size_t>(1, predicted));
  evaluation.recall = 100 * static_cast<double>(both) /
                      static_cast<double>(std::max<std::size_t>(1, evaluation.waited));
  return evaluation;
}

learn::Evaluation CommunicationOf(const LearnedModel& model, Rows rows) {
  learn::EvaluatedTimes slowdowns;
  for (const MeasuredPair* row : rows) {
    const double alone = row->pair.communication.payload_gbps;
    if (row->mode != Mode::kSteady || alone <= 0 || row->communication_together_gbps <= 0) {
      continue;
    }
    slowdowns.Add(model.SlowdownOf(row->machine, row->pair).communication,
                  alone / row->communication_together_gbps);
  }
  return slowdowns.Evaluate();
}

/// The groupings of rows and the group of a row in each.
std::array<std::pair<std::string_view, std::string>, 6> GroupsIn(const MeasuredPair& row) {
  const CommunicationKernel& communication = row.pair.communication;
  return {{{"hardware", row.gpu},
           {"mode", row.mode == Mode::kSteady ? "steady"
                    : row.compute_is_first    ? "communication second"
                                              : "computing second"},
           {"place", std::string(PlaceName(communication.place))},
           {"pattern", std::string(PatternName(communication.pattern))},
           {"width", fmt::format("{:3}", communication.shape.blocks)},
           {"kind", std::string(row.pair.compute.kind)}}};
}

std::vector<PairGroup> GroupsOf(std::span<const EvaluatedPair> rows) {
  // By grouping in their order, then by name.
  std::map<std::tuple<std::size_t, std::string_view, std::string>, learn::EvaluatedTimes> times;
  for (const EvaluatedPair& row : rows) {
    std::size_t number = 0;
    for (const auto& [what, name] : GroupsIn(*row.row)) {
      times[{number++, what, name}].Add(row.predicted_us, row.row->together_us);
    }
  }
  std::vector<PairGroup> groups;
  for (const auto& [key, of_group] : times) {
    groups.push_back({std::string(std::get<1>(key)), std::get<2>(key), of_group.Evaluate()});
  }
  return groups;
}

std::vector<learn::GroupImportance> ImportanceOf(const LearnedModel& model, Rows rows) {
  const learn::DataSet data = SlowdownData(rows, Knowledge::kMeasured);
  return learn::PermutationImportance(data, data.AllRows(), KernelOverlapFeatureGroups(),
                                      [&model](std::span<const float> features) {
                                        return model.parts().compute.PredictRows(features);
                                      },
                                      learn::MeanAbsolutePercentageOfLogs, {.shuffles = 3});
}

}  // namespace

Result<HeldOut> HeldOutOf(std::string_view name) {
  for (std::size_t i = 0; i < kHeldOutNames.size(); ++i) {
    if (kHeldOutNames[i] == name) {
      return static_cast<HeldOut>(i);
    }
  }
  return Invalid("rows cannot be held out by '{}'; expected one of {}", name,
                 fmt::join(kHeldOutNames, ", "));
}

PairSplit SplitPairs(std::span<const MeasuredPair> rows, HeldOut what, std::uint64_t seed) {
  PairSplit split;
  for (const MeasuredPair& row : rows) {
    (IsTest(row, what, seed) ? split.test : split.train).push_back(&row);
  }
  return split;
}

OverlapEvaluation EvaluateOverlap(const LearnedModel& model, Rows train, Rows test) {
  OverlapEvaluation evaluation;
  evaluation.rows = Predicted(Learned(model, "learned", false), test);
  evaluation.predictors.push_back(EvaluateRows("learned", evaluation.rows));
  evaluation.as_planned = EvaluateRows(
      "learned, as a plan knows it", Predicted(Learned(model, "learned, as planned", true), test));
  for (const Predictor& predictor : {Analytic(), MedianOfName(train), Constant("no slowdown", 1),
                                     Constant("constant 1.3", kConstantFactor)}) {
    evaluation.predictors.push_back(EvaluateRows(predictor.name, Predicted(predictor, test)));
  }
  evaluation.communication = CommunicationOf(model, test);
  evaluation.delays = DelaysOf(evaluation.rows);
  evaluation.groups = GroupsOf(evaluation.rows);
  evaluation.importance = ImportanceOf(model, test);
  std::vector<double> spreads;
  for (const MeasuredPair* row : test) {
    spreads.push_back(100 * row->alone_spread);
  }
  evaluation.noise_floor = spreads.empty() ? kUnknown : Median(spreads);
  return evaluation;
}

}  // namespace orrery::calibrate
