#include "orrery/compat/echo/published.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <random>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "orrery/base/text.h"

namespace orrery::compat::echo {
namespace {

constexpr std::size_t kLanes = 8;
constexpr std::size_t kBlock = 128;

double SumInOrder(std::span<const double> values, double sum) {
  for (const double value : values) {
    sum += value;
  }
  return sum;
}

double SumOfBlock(std::span<const double> values) {
  std::array<double, kLanes> lanes{};
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    lanes[lane] = values[lane];
  }
  const std::size_t whole = values.size() - values.size() % kLanes;
  for (std::size_t begin = kLanes; begin < whole; begin += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] += values[begin + lane];
    }
  }
  const double sum = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
                     ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
  return SumInOrder(values.subspan(whole), sum);
}

double PairwiseMean(std::span<const double> values) {
  return PairwiseSum(values) / static_cast<double>(values.size());
}

// Echo's configuration calls it test_baseline_ratio.
constexpr double kBaseline = 1.3;
constexpr std::array<double, 3> kWithin = {0.05, 0.1, 0.15};

struct Values {
  std::vector<double> slowdowns;
  std::vector<double> durations;
};

std::vector<double> Differences(std::span<const double> predicted, std::span<const double> truth) {
  std::vector<double> differences(predicted.size());
  std::ranges::transform(predicted, truth, differences.begin(),
                         [](double a, double b) { return a - b; });
  return differences;
}

void AddErrors(std::string_view who, std::string_view what, std::string_view suffix,
               std::vector<double> differences, std::vector<PublishedLine>& lines) {
  std::vector<double> squares(differences.size());
  std::ranges::transform(differences, squares.begin(), [](double d) { return d * d; });
  std::ranges::for_each(differences, [](double& d) { d = std::abs(d); });
  const double mean_square = PairwiseMean(squares);
  lines.push_back({fmt::format("{} MAE of {}{}", who, what, suffix), PairwiseMean(differences)});
  lines.push_back({fmt::format("{} MSE of {}{}", who, what, suffix), mean_square});
  lines.push_back({fmt::format("{} RMSE of {}{}", who, what, suffix), std::sqrt(mean_square)});
}

PublishedLine SumLine(std::string label, double sum, double truth) {
  return {.label = std::move(label),
          .value = sum,
          .is_sum = true,
          .error_percent = (sum - truth) / truth * 100,
          .has_error = true};
}

double ShareWithin(std::span<const double> predicted, std::span<const double> truth, double limit) {
  std::size_t within = 0;
  for (std::size_t row = 0; row < truth.size(); ++row) {
    within += std::abs(predicted[row] - truth[row]) / truth[row] <= limit ? 1 : 0;
  }
  return static_cast<double>(within) / static_cast<double>(truth.size());
}

/// Measured and predicted values of the overlapped rows.
struct Test {
  Values truth;
  Values model;
  std::vector<double> clipped;
  Values baseline;
};

Test TestOf(std::span<const KernelRow> rows, std::span<const float> slowdowns) {
  Test test;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const KernelRow& kernel = rows[row];
    if (!kernel.IsOverlapped()) {
      continue;
    }
    test.truth.slowdowns.push_back(kernel.slowdown);
    test.truth.durations.push_back(kernel.together_ns);
    test.model.slowdowns.push_back(slowdowns[row]);
    test.clipped.push_back(std::max(slowdowns[row], 0.0F));
    test.model.durations.push_back(DurationFrom(kernel, slowdowns[row]));
    // A slowdown of 1.3 here but a factor of 1.3 below, as in the published test.
    test.baseline.slowdowns.push_back(kBaseline);
    const double ratio = kernel.overlap_ratio;
    test.baseline.durations.push_back((1 - ratio) * kernel.alone_ns +
                                      ratio * kernel.alone_ns * kBaseline);
  }
  return test;
}

void AddSums(const Test& test, std::vector<PublishedLine>& lines) {
  const double truth = PairwiseSum(test.truth.durations);
  lines.push_back(SumLine(
      "Sum of calculated duration with overlap:", PairwiseSum(test.model.durations), truth));
  lines.push_back(SumLine("Sum of comparison using slowdown=test_baseline_ratio:",
                          PairwiseSum(test.baseline.durations), truth));
  lines.push_back(
      {.label = "Sum of ground truth duration with overlap:", .value = truth, .is_sum = true});
}

std::size_t DrawUpTo(std::size_t most, std::mt19937& bits) {
  const std::size_t mask = std::bit_ceil(most + 1) - 1;
  std::size_t drawn = bits() & mask;
  while (drawn > most) {
    drawn = bits() & mask;
  }
  return drawn;
}

}  // namespace

double PairwiseSum(std::span<const double> values) {
  if (values.size() < kLanes) {
    return SumInOrder(values, 0);
  }
  if (values.size() <= kBlock) {
    return SumOfBlock(values);
  }
  const std::size_t half = values.size() / 2 - values.size() / 2 % kLanes;
  return PairwiseSum(values.first(half)) + PairwiseSum(values.subspan(half));
}

Standardisation Standardisation::Of(std::span<const KernelRow> rows,
                                    std::span<const std::uint32_t> of) {
  Standardisation result;
  const auto count = static_cast<double>(of.size());
  for (std::size_t feature = 0; feature < kFeatures.size(); ++feature) {
    double sum = 0;
    for (const std::uint32_t row : of) {
      sum += rows[row].features[feature];
    }
    double squares = 0;
    for (const std::uint32_t row : of) {
      const double distance = rows[row].features[feature] - sum / count;
      squares += distance * distance;
    }
    result.mean_[feature] = sum / count;
    // A constant feature is only shifted.
    result.deviation_[feature] = squares > 0 ? std::sqrt(squares / count) : 1;
  }
  return result;
}

Features Standardisation::Apply(const Features& features) const {
  Features standard = {};
  for (std::size_t feature = 0; feature < features.size(); ++feature) {
    standard[feature] = (features[feature] - mean_[feature]) / deviation_[feature];
  }
  return standard;
}

double DurationFrom(const KernelRow& row, float slowdown) {
  const float factor = 1.0F + std::max(slowdown, 0.0F);
  const double ratio = row.overlap_ratio;
  return (1 - ratio) * row.alone_ns + ratio * row.alone_ns * static_cast<double>(factor);
}

std::string PublishedLine::Text() const {
  if (!is_sum) {
    return fmt::format("{} {}", label, value);
  }
  return has_error ? fmt::format("{} {} (Error rate: {}%)", label, value, error_percent)
                   : fmt::format("{} {:.0f}", label, value);
}

std::vector<PublishedLine> PublishedLines(std::span<const KernelRow> rows,
                                          std::span<const float> slowdowns) {
  const Test test = TestOf(rows, slowdowns);
  std::vector<PublishedLine> lines;
  AddErrors("Our", "slowdown", " (original)",
            Differences(test.model.slowdowns, test.truth.slowdowns), lines);
  AddErrors("Our", "slowdown", " (clipped)", Differences(test.clipped, test.truth.slowdowns),
            lines);
  AddErrors("Our", "duration", "", Differences(test.model.durations, test.truth.durations), lines);
  AddErrors("Baseline", "slowdown", "", Differences(test.baseline.slowdowns, test.truth.slowdowns),
            lines);
  AddErrors("Baseline", "duration", "", Differences(test.baseline.durations, test.truth.durations),
            lines);
  AddSums(test, lines);
  for (const double limit : kWithin) {
    lines.push_back({fmt::format("Our {} error:", limit),
                     ShareWithin(test.model.durations, test.truth.durations, limit)});
    lines.push_back({fmt::format("Baseline {} error:", limit),
                     ShareWithin(test.baseline.durations, test.truth.durations, limit)});
  }
  return lines;
}

std::vector<std::string> DifferencesFrom(std::string_view published_text,
                                         std::span<const PublishedLine> lines) {
  std::vector<std::string> published;
  std::istringstream text{std::string(published_text)};
  for (std::string line; std::getline(text, line);) {
    if (const std::string_view trimmed = Trimmed(line, " \r"); !trimmed.empty()) {
      published.emplace_back(trimmed);
    }
  }
  std::vector<std::string> differences;
  for (std::size_t i = 0; i < std::max(published.size(), lines.size()); ++i) {
    const std::string theirs = i < published.size() ? published[i] : "";
    const std::string ours = i < lines.size() ? lines[i].Text() : "";
    if (theirs != ours) {
      differences.push_back(fmt::format("published '{}', computed '{}'", theirs, ours));
    }
  }
  return differences;
}

std::vector<std::uint32_t> LegacyPermutation(std::size_t count, std::uint32_t seed) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  std::mt19937 bits(seed);
  for (std::size_t left = count; left > 1; --left) {
    std::swap(order[left - 1], order[DrawUpTo(left - 1, bits)]);
  }
  return order;
}

LegacySplit SplitAsScikitLearn(std::size_t count, double test_share, std::uint32_t seed) {
  const std::vector<std::uint32_t> order = LegacyPermutation(count, seed);
  const auto num_test =
      static_cast<std::ptrdiff_t>(std::ceil(static_cast<double>(count) * test_share));
  LegacySplit split{.train = {order.begin() + num_test, order.end()},
                    .test = {order.begin(), order.begin() + num_test}};
  std::ranges::sort(split.train);
  std::ranges::sort(split.test);
  return split;
}

}  // namespace orrery::compat::echo
