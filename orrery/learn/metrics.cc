#include "orrery/learn/metrics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

#include "orrery/base/check.h"
#include "orrery/base/math/statistics.h"
#include "orrery/learn/data_set.h"

namespace orrery::learn {
namespace {

constexpr double kPercent = 100;

// Keeps a row without error from making the geometric mean 0.
constexpr double kGmaeFloor = 4e-4;

template <typename Function>
std::vector<double> ForPairs(std::span<const double> predicted, std::span<const double> measured,
                             const Function& function) {
  ORRERY_CHECK(predicted.size() == measured.size(), "each row has a prediction");
  std::vector<double> values(predicted.size());
  std::transform(predicted.begin(), predicted.end(), measured.begin(), values.begin(), function);
  return values;
}

template <typename Function>
std::vector<double> ForEach(std::span<const double> values, const Function& function) {
  std::vector<double> results(values.size());
  std::transform(values.begin(), values.end(), results.begin(), function);
  return results;
}

std::vector<double> SignedErrors(std::span<const double> predicted,
                                 std::span<const double> measured) {
  return ForPairs(predicted, measured, [](double p, double r) { return p / r - 1; });
}

std::vector<double> AbsoluteErrors(std::span<const double> predicted,
                                   std::span<const double> measured) {
  return ForEach(SignedErrors(predicted, measured), [](double error) { return std::abs(error); });
}

double ShareWithin(std::span<const double> errors, double limit_percent) {
  // A prediction of 1.05 for 1 is within 5 %, though 1.05 / 1 - 1 is 0.05 + 4e-17.
  constexpr double kRounding = 1e-12;
  return kPercent * Mean(ForEach(errors, [=](double error) {
           return kPercent * error <= limit_percent + kRounding ? 1.0 : 0.0;
         }));
}

double SquaredResiduals(std::span<const double> predicted, std::span<const double> measured) {
  return Mean(ForPairs(predicted, measured, [](double p, double r) { return (p - r) * (p - r); }));
}

double RSquared(std::span<const double> predicted, std::span<const double> measured) {
  const std::vector<double> mean(measured.size(), Mean(measured));
  return 1 - SquaredResiduals(predicted, measured) / SquaredResiduals(mean, measured);
}

std::vector<double> Logarithms(std::span<const double> values) {
  return ForEach(values, [](double value) { return std::log(value); });
}

auto CountErrors(std::span<const double> errors) {
  decltype(Evaluation::histogram) counts{};
  for (const double error : errors) {
    const auto* const end =
        std::upper_bound(kErrorBinEnds.begin(), kErrorBinEnds.end(), kPercent * error);
    ++counts[static_cast<std::size_t>(end - kErrorBinEnds.begin())];
  }
  return counts;
}

std::vector<std::size_t> ShuffledOrder(std::size_t count, Random& random) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  random.Shuffle(std::span(order));
  return order;
}

std::vector<float> WithShuffledGroup(const std::vector<float>& rows, std::size_t num_features,
                                     const FeatureGroup& group, Random& random) {
  const std::vector<std::size_t> order = ShuffledOrder(rows.size() / num_features, random);
  std::vector<float> shuffled = rows;
  for (std::size_t row = 0; row < order.size(); ++row) {
    for (const std::size_t feature : group.features) {
      shuffled[row * num_features + feature] = rows[order[row] * num_features + feature];
    }
  }
  return shuffled;
}

}  // namespace

Evaluation Evaluate(std::span<const double> predicted, std::span<const double> measured) {
  const std::vector<double> errors = AbsoluteErrors(predicted, measured);
  const auto log_error = [](double error) { return std::log(error + kGmaeFloor); };
  return {
      .rows = errors.size(),
      .mape = kPercent * Mean(errors),
      .gmae = kPercent * std::exp(Mean(ForEach(errors, log_error))),
      .median = kPercent * Median(errors),
      .p95 = kPercent * Quantile(errors, 0.95),
      .bias = kPercent * Mean(SignedErrors(predicted, measured)),
      .within_5 = ShareWithin(errors, 5),
      .within_10 = ShareWithin(errors, 10),
      .within_15 = ShareWithin(errors, 15),
      .r2_of_logs = RSquared(Logarithms(predicted), Logarithms(measured)),
      .error_of_sum = kPercent * (Mean(predicted) / Mean(measured) - 1),
      .histogram = CountErrors(errors),
  };
}

double MeanAbsolutePercentageOfLogs(std::span<const double> predicted,
                                    std::span<const double> measured) {
  const auto error = [](double p, double r) { return std::abs(std::expm1(p - r)); };
  return kPercent * Mean(ForPairs(predicted, measured, error));
}

std::vector<std::size_t> WorstRows(std::span<const double> predicted,
                                   std::span<const double> measured, std::size_t count) {
  const std::vector<double> errors = AbsoluteErrors(predicted, measured);
  std::vector<std::size_t> rows(errors.size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  std::stable_sort(rows.begin(), rows.end(),
                   [&](std::size_t lhs, std::size_t rhs) { return errors[lhs] > errors[rhs]; });
  rows.resize(std::min(count, rows.size()));
  return rows;
}

std::vector<GroupImportance> PermutationImportance(
    const DataSet& data, std::span<const RowIndex> rows, std::span<const FeatureGroup> groups,
    const Predictor& predict, const ErrorFigure& error, const PermutationOptions& options) {
  ORRERY_CHECK(options.shuffles > 0, "there is a shuffle");
  const std::vector<float> features = data.FeaturesOf(rows);
  const std::vector<double> targets = data.TargetsOf(rows);
  const double error_as_is = error(predict(features), targets);
  std::vector<GroupImportance> importances;
  for (const FeatureGroup& group : groups) {
    // Seeded by name, so that a group's importance does not depend on the other groups.
    Random random(HashText(group.name, options.seed));
    std::vector<double> increases;
    for (int shuffle = 0; shuffle < options.shuffles; ++shuffle) {
      const std::vector<float> shuffled =
          WithShuffledGroup(features, data.num_features(), group, random);
      increases.push_back(error(predict(shuffled), targets) - error_as_is);
    }
    importances.push_back({.name = group.name,
                           .mean_increase = Mean(increases),
                           .spread = StandardDeviation(increases)});
  }
  return importances;
}

}  // namespace orrery::learn
