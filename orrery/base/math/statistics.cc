#include "orrery/base/math/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "orrery/base/check.h"

namespace orrery {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

bool IsUnknown(std::span<const double> values) {
  return values.empty() || std::ranges::any_of(values, [](double v) { return std::isnan(v); });
}

// Neumaier's summation: carries what each addition rounds away.
double Sum(std::span<const double> values) {
  double sum = 0;
  double lost = 0;
  for (const double value : values) {
    const double next = sum + value;
    lost += std::abs(sum) >= std::abs(value) ? (sum - next) + value : (value - next) + sum;
    sum = next;
  }
  // Infinite values make the correction NaN, the sum itself is right.
  return std::isfinite(lost) ? sum + lost : sum;
}

template <typename Function>
std::vector<double> ForEach(std::span<const double> values, const Function& function) {
  std::vector<double> results(values.size());
  std::ranges::transform(values, results.begin(), function);
  return results;
}

}  // namespace

double Mean(std::span<const double> values) {
  return IsUnknown(values) ? kUnknown : Sum(values) / static_cast<double>(values.size());
}

double Median(std::span<const double> values) {
  return Quantile(values, 0.5);
}

double Quantile(std::span<const double> values, double q) {
  ORRERY_CHECK(q >= 0 && q <= 1, "a quantile is between 0 and 1");
  if (IsUnknown(values)) {
    return kUnknown;
  }
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double share = position - static_cast<double>(below);
  // Equal neighbours (also infinite ones) need no interpolation.
  return share == 0 || sorted[below] == sorted[above]
             ? sorted[below]
             : sorted[below] + share * (sorted[above] - sorted[below]);
}

double MedianAbsoluteDeviation(std::span<const double> values) {
  const double median = Median(values);
  return Median(ForEach(values, [=](double value) { return std::abs(value - median); }));
}

double StandardDeviation(std::span<const double> values) {
  const double mean = Mean(values);
  return std::sqrt(
      Mean(ForEach(values, [=](double value) { return (value - mean) * (value - mean); })));
}

double TheilSenSlope(std::span<const double> x, std::span<const double> y) {
  ORRERY_CHECK(x.size() == y.size(), "a point has an x and a y");
  if (IsUnknown(x) || IsUnknown(y)) {
    return kUnknown;
  }
  std::vector<double> slopes;
  for (std::size_t first = 0; first < x.size(); ++first) {
    for (std::size_t second = first + 1; second < x.size(); ++second) {
      if (x[first] != x[second]) {
        slopes.push_back((y[second] - y[first]) / (x[second] - x[first]));
      }
    }
  }
  return Median(slopes);
}

std::vector<double> Ranks(std::span<const double> values) {
  ORRERY_CHECK(values.empty() || !IsUnknown(values), "what is unknown has no rank");
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<double> ranks(values.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin;
    while (end < order.size() && values[order[end]] == values[order[begin]]) {
      ++end;
    }
    // The mean of begin + 1 … end.
    const double rank = static_cast<double>(begin + 1 + end) / 2;
    for (; begin < end; ++begin) {
      ranks[order[begin]] = rank;
    }
  }
  return ranks;
}

double SpearmanCorrelation(std::span<const double> x, std::span<const double> y) {
  ORRERY_CHECK(x.size() == y.size(), "a pair has an x and a y");
  if (IsUnknown(x) || IsUnknown(y)) {
    return kUnknown;
  }
  const std::vector<double> x_ranks = Ranks(x);
  const std::vector<double> y_ranks = Ranks(y);
  // Ranks are halves of integers, so that their products add up without rounding.
  const double mean = static_cast<double>(x.size() + 1) / 2;
  double covariance = 0;
  double x_variance = 0;
  double y_variance = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    covariance += (x_ranks[i] - mean) * (y_ranks[i] - mean);
    x_variance += (x_ranks[i] - mean) * (x_ranks[i] - mean);
    y_variance += (y_ranks[i] - mean) * (y_ranks[i] - mean);
  }
  return x_variance > 0 && y_variance > 0 ? covariance / std::sqrt(x_variance * y_variance)
                                          : kUnknown;
}

double KolmogorovSmirnovDistance(std::span<const double> a, std::span<const double> b) {
  if (IsUnknown(a) || IsUnknown(b)) {
    return kUnknown;
  }
  std::vector<double> first(a.begin(), a.end());
  std::vector<double> second(b.begin(), b.end());
  std::ranges::sort(first);
  std::ranges::sort(second);
  double distance = 0;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < first.size() && j < second.size()) {
    // Both distributions jump at equal values before they are compared.
    const double value = std::min(first[i], second[j]);
    while (i < first.size() && first[i] == value) {
      ++i;
    }
    while (j < second.size() && second[j] == value) {
      ++j;
    }
    distance =
        std::max(distance, std::abs(static_cast<double>(i) / static_cast<double>(first.size()) -
                                    static_cast<double>(j) / static_cast<double>(second.size())));
  }
  return distance;
}

}  // namespace orrery
