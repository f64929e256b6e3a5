#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "orrery/learn/data_set.h"

namespace orrery::learn {

/// Upper ends of the bins of |error|, in percent, with a last bin for all above.
inline constexpr std::array<double, 15> kErrorBinEnds = {5,  10, 15,  20,  25,  30,  40, 50,
                                                         60, 80, 100, 150, 200, 300, 400};

/// The accuracy of predictions. The error of a row is predicted / measured - 1. All metrics are in
/// percent except the number of rows, R² and the histogram; without rows they are NaN.
struct Evaluation {
  std::size_t rows = 0;
  double mape = 0;  // mean |error|
  /// exp(mean ln(|error| + 4e-4)): hides rare large errors and rewards a lucky zero.
  double gmae = 0;
  double median = 0;        // of |error|
  double p95 = 0;           // of |error|
  double bias = 0;          // mean error, with its sign
  double within_5 = 0;      // share of rows with |error| ≤ 5 %
  double within_10 = 0;     // …
  double within_15 = 0;     // …
  double r2_of_logs = 0;    // R² of ln time
  double error_of_sum = 0;  // error of the sum over all rows, with its sign
  std::array<std::size_t, kErrorBinEnds.size() + 1>
      histogram{};  // rows with |error| in [begin, end)

  bool operator==(const Evaluation&) const = default;
};

/// Compares times with times (not their logarithms). Measured values are above 0; a prediction
/// that is not above 0 makes R² of logarithms NaN.
[[nodiscard]] Evaluation Evaluate(std::span<const double> predicted,
                                  std::span<const double> measured);

struct EvaluatedTimes {
  std::vector<double> predicted = {};
  std::vector<double> measured = {};

  void Add(double predicted_time, double measured_time) {
    predicted.push_back(predicted_time);
    measured.push_back(measured_time);
  }

  [[nodiscard]] Evaluation Evaluate() const { return learn::Evaluate(predicted, measured); }
};

/// Returns the mean of |predicted / measured - 1| in percent; both are logarithms of times.
[[nodiscard]] double MeanAbsolutePercentageOfLogs(std::span<const double> predicted,
                                                  std::span<const double> measured);

/// Returns the positions of the `count` rows with the largest |error|, worst first; equal errors
/// in order of position.
[[nodiscard]] std::vector<std::size_t> WorstRows(std::span<const double> predicted,
                                                 std::span<const double> measured,
                                                 std::size_t count);

/// Predicts rows of features that lie one after the other.
using Predictor = std::function<std::vector<double>(std::span<const float>)>;

/// Returns one number for predicted and measured targets, the smaller the better (see metrics.h).
using ErrorFigure = std::function<double(std::span<const double>, std::span<const double>)>;

/// Features that are shuffled together, because they carry the same information.
struct FeatureGroup {
  std::string name;
  std::vector<std::size_t> features;
};

struct PermutationOptions {
  int shuffles = 10;
  std::uint64_t seed = 0;
};

/// The increase of the error without the information of a feature group.
struct GroupImportance {
  std::string name;
  double mean_increase = 0;  // of the error metric, over all shuffles
  double spread = 0;         // standard deviation over the shuffles
};

/// Shuffles the columns of each group among `rows`, the columns of one group alike, and compares
/// the error with that of the rows as they are. Groups are in the order given.
[[nodiscard]] std::vector<GroupImportance> PermutationImportance(
    const DataSet& data, std::span<const RowIndex> rows, std::span<const FeatureGroup> groups,
    const Predictor& predict, const ErrorFigure& error, const PermutationOptions& options = {});

}  // namespace orrery::learn
