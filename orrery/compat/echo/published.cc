#include "orrery/compat/echo/published.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "orrery/compat/echo/pairwise_sum.h"

namespace orrery::compat::echo {
namespace {

// Echo's configuration calls it test_baseline_ratio.
constexpr double kBaseline = 1.3;
constexpr std::array<double, 3> kWithin = {0.05, 0.1, 0.15};

/// What both predictors of the test are evaluated by.
struct Evaluated {
  std::vector<double> slowdowns;
  std::vector<double> durations;
};

struct Truth {
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

/// The test's rows, and what is predicted for them.
struct Test {
  Truth truth;
  Evaluated model;
  std::vector<double> clipped;
  Evaluated baseline;
};

Test TestOf(std::span<const EchoRow> rows, std::span<const float> slowdowns) {
  Test test;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const EchoRow& kernel = rows[row];
    if (!kernel.IsOverlapped()) {
      continue;
    }
    test.truth.slowdowns.push_back(kernel.slowdown);
    test.truth.durations.push_back(kernel.together_ns);
    test.model.slowdowns.push_back(slowdowns[row]);
    test.clipped.push_back(std::max(slowdowns[row], 0.0F));
    test.model.durations.push_back(DurationFrom(kernel, slowdowns[row]));
    // A slowdown of 1.3 here and a factor of 1.3 there, as the test has it.
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

}  // namespace

Standardisation Standardisation::Of(std::span<const EchoRow> rows,
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
    // A feature that never changes is only moved.
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

double DurationFrom(const EchoRow& row, float slowdown) {
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

std::vector<PublishedLine> PublishedLines(std::span<const EchoRow> rows,
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
  while (!published_text.empty()) {
    const std::size_t end = std::min(published_text.find('\n'), published_text.size());
    std::string_view line = published_text.substr(0, end);
    published_text.remove_prefix(std::min(end + 1, published_text.size()));
    line = line.substr(0, line.find_last_not_of(" \r") + 1);
    if (!line.empty()) {
      published.emplace_back(line);
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

}  // namespace orrery::compat::echo
