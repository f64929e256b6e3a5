#include "orrery/calibrate/interval_calibration.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "orrery/learn/quantile_regression.h"
#include "orrery/simulate/explain/step_intervals.h"

namespace orrery::calibrate {
namespace {

using simulate::CausesOf;
using simulate::IntervalCauses;
using simulate::IntervalEnd;
using simulate::ShippedIntervals;
using simulate::StepIntervals;

/// Of an interval that holds four of five.
constexpr double kHighLevel = 0.9;
constexpr double kInside = 0.8;
/// Rows of a stack from which on it counts as a whole one.
constexpr double kRowsOfWhole = 20;
/// Of which each is left out once.
constexpr std::size_t kLeastStacks = 3;
/// Of an end that is at the prediction: any residual is beyond it.
constexpr double kLeastDistance = 1e-3;

/// The weight of each residual: that of its stack, divided by its rows.
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
    const IntervalCauses causes = CausesOf(residuals[i].traits);
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

/// The stretch with which an interval holds a residual.
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

}  // namespace

StepIntervals CalibrateIntervals(std::span<const StepResidual> residuals) {
  std::set<std::string> stacks;
  for (const StepResidual& residual : residuals) {
    stacks.insert(residual.stack);
  }
  if (stacks.size() < kLeastStacks) {
    return ShippedIntervals();
  }
  StepIntervals intervals = FitEnds(residuals);
  intervals.stretch = StretchOf(residuals);
  Stretch(intervals.below, intervals.stretch);
  Stretch(intervals.above, intervals.stretch);
  intervals.rows = residuals.size();
  intervals.stacks = stacks.size();
  return intervals;
}

}  // namespace orrery::calibrate
