#include "orrery/simulate/interval_calibration.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

#include "orrery/base/check.h"
#include "orrery/base/error.h"
#include "orrery/base/yaml_fields.h"
#include "orrery/learn/interval.h"
#include "orrery/learn/quantile_regression.h"
#include "orrery/workload/input.h"
#include "orrery/workload/job/framework_fits_text.h"

namespace orrery::simulate {
namespace {

/// Of an interval that holds four of five.
constexpr double kHighLevel = 0.9;
constexpr double kInside = 0.8;
/// Rows of a stack from which on it counts as a whole one.
constexpr double kRowsOfWhole = 20;
/// A stretch needs stacks to be left out.
constexpr std::size_t kLeastStacks = 3;
/// Of an end that is at the prediction: any residual is beyond it.
constexpr double kLeastDistance = 1e-3;

/// Hardly any published step uses more of the peak.
constexpr double kGoodUtilisation = 0.6;

constexpr std::array<const char*, kNumIntervalCauses> kCauseNames{
    "idleness", "host", "communication", "unmeasured", "experts"};

using Causes = std::array<double, kNumIntervalCauses>;

Causes CausesOf(const StepTraits& traits) {
  const double unused = std::max(0.0, 1 - traits.utilisation / kGoodUtilisation);
  return {unused * unused, traits.shares[kHost], traits.shares[kCommunication], traits.unmeasured,
          traits.has_experts ? 1.0 : 0.0};
}

/// What each residual counts: as much as its stack, divided by its rows.
std::vector<double> WeightsOf(std::span<const StepResidual> residuals) {
  std::map<std::string, double> rows;
  for (const StepResidual& residual : residuals) {
    ++rows[residual.stack];
  }
  std::vector<double> weights;
  for (const StepResidual& residual : residuals) {
    const double of_stack = rows.at(residual.stack);
    weights.push_back(std::min(1.0, of_stack / kRowsOfWhole) / of_stack);
  }
  return weights;
}

/// `sign` is 1 for the upper end and -1 for the lower one.
IntervalEnd FitEnd(std::span<const StepResidual> residuals, double sign) {
  const std::vector<double> weights = WeightsOf(residuals);
  std::vector<learn::QuantileRow> rows;
  for (std::size_t i = 0; i < residuals.size(); ++i) {
    const Causes causes = CausesOf(residuals[i].traits);
    learn::QuantileRow& row = rows.emplace_back();
    row.values.push_back(1);
    row.values.insert(row.values.end(), causes.begin(), causes.end());
    row.target = sign * residuals[i].log_ratio;
    row.weight = weights[i];
  }
  const std::vector<double> found = learn::FitQuantile(rows, kHighLevel);
  IntervalEnd end{.always = found.front()};
  std::copy_n(found.begin() + 1, end.by_cause.size(), end.by_cause.begin());
  return end;
}

StepIntervals FitEnds(std::span<const StepResidual> residuals) {
  return {.below = FitEnd(residuals, -1), .above = FitEnd(residuals, 1)};
}

/// How far an interval must be stretched in order to hold a residual.
double StretchFor(const StepIntervals& intervals, const StepResidual& residual) {
  const IntervalEnd& end = residual.log_ratio > 0 ? intervals.above : intervals.below;
  return std::abs(residual.log_ratio) / std::max(kLeastDistance, end.DistanceOf(residual.traits));
}

/// The stretch that holds four of five residuals of stacks that the ends have not seen.
double StretchOf(std::span<const StepResidual> residuals) {
  std::map<std::string, std::vector<StepResidual>> of_stack;
  for (const StepResidual& residual : residuals) {
    of_stack[residual.stack].push_back(residual);
  }
  if (of_stack.size() < kLeastStacks) {
    return 1;
  }
  const std::vector<double> weights = WeightsOf(residuals);
  std::map<std::string, StepIntervals> without;
  for (const auto& [stack, own] : of_stack) {
    std::vector<StepResidual> others;
    std::ranges::copy_if(residuals, std::back_inserter(others),
                         [&](const StepResidual& one) { return one.stack != stack; });
    without[stack] = FitEnds(others);
  }
  std::vector<learn::WeightedValue> stretches;
  for (std::size_t i = 0; i < residuals.size(); ++i) {
    stretches.push_back({StretchFor(without.at(residuals[i].stack), residuals[i]), weights[i]});
  }
  return std::max(1.0, learn::WeightedQuantile(std::move(stretches), kInside));
}

void Stretch(IntervalEnd& end, double factor) {
  end.always *= factor;
  for (double& distance : end.by_cause) {
    distance *= factor;
  }
}

std::string EndText(const char* key, const IntervalEnd& end) {
  std::string text = fmt::format("  {}: {{always: {:.4g}", key, end.always);
  for (std::size_t i = 0; i < end.by_cause.size(); ++i) {
    text += fmt::format(", {}: {:.4g}", kCauseNames[i], end.by_cause[i]);
  }
  return text + "}\n";
}

IntervalEnd ReadEnd(YamlFields fields) {
  IntervalEnd end{.always = fields.Number("always", 0, 0)};
  for (std::size_t i = 0; i < end.by_cause.size(); ++i) {
    end.by_cause[i] = fields.Number(kCauseNames[i], 0, 0);
  }
  fields.RefuseOthers();
  return end;
}

}  // namespace

double IntervalEnd::DistanceOf(const StepTraits& traits) const {
  const Causes causes = CausesOf(traits);
  return std::inner_product(causes.begin(), causes.end(), by_cause.begin(), always);
}

learn::TimeInterval StepIntervals::Around(double seconds, const StepTraits& traits) const {
  const double floor_s = std::min(seconds, traits.roofline_s);
  return {.low_s = std::max(floor_s, seconds * std::exp(-below.DistanceOf(traits))),
          .high_s = seconds * std::exp(above.DistanceOf(traits))};
}

StepIntervals CalibrateIntervals(std::span<const StepResidual> residuals) {
  if (residuals.empty()) {
    return {};
  }
  StepIntervals intervals = FitEnds(residuals);
  intervals.stretch = StretchOf(residuals);
  Stretch(intervals.below, intervals.stretch);
  Stretch(intervals.above, intervals.stretch);
  std::set<std::string> stacks;
  for (const StepResidual& residual : residuals) {
    stacks.insert(residual.stack);
  }
  intervals.rows = residuals.size();
  intervals.stacks = stacks.size();
  return intervals;
}

std::string IntervalsText(const StepIntervals& intervals) {
  return "intervals:\n" + EndText("below", intervals.below) + EndText("above", intervals.above) +
         fmt::format("  stretch: {:.4g}\n  rows: {}\n  stacks: {}\n", intervals.stretch,
                     intervals.rows, intervals.stacks);
}

Result<StepIntervals> ReadStepIntervals(const std::string& yaml) {
  return workload::WithYaml(
      "intervals of steps", yaml, [](const YAML::Node& root) -> Result<StepIntervals> {
        if (!root["intervals"]) {
          return workload::Refuse(
              "the file has no 'intervals'; write it anew with `orrery fit frameworks`");
        }
        std::optional<Error> first_error;
        YamlFields fields(root["intervals"], "intervals", first_error);
        StepIntervals intervals{.below = ReadEnd(fields.Map("below")),
                                .above = ReadEnd(fields.Map("above"))};
        intervals.stretch = fields.Number("stretch", 1, 1);
        intervals.rows = static_cast<std::size_t>(fields.Count("rows", 0));
        intervals.stacks = static_cast<std::size_t>(fields.Count("stacks", 0));
        fields.RefuseOthers();
        if (first_error) {
          return tl::unexpected(*std::move(first_error));
        }
        return intervals;
      });
}

const StepIntervals& ShippedIntervals() {
  static const StepIntervals intervals = [] {
    auto read = ReadStepIntervals(workload::ShippedFrameworkFits());
    ORRERY_CHECK(read.has_value(), read ? "" : read.error().message());
    return *std::move(read);
  }();
  return intervals;
}

}  // namespace orrery::simulate
