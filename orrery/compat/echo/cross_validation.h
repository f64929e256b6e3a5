#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/compat/echo/rows.h"

namespace orrery::compat::echo {

enum class HeldOut : std::uint8_t {
  kSegments,  // all rows from the start of one communication to the next: no leakage
  kRows,      // single rows, as Echo's users do: neighbours of a test row are trained on
};

struct CrossValidationOptions {
  HeldOut held_out = HeldOut::kSegments;
  std::size_t folds = 5;
  std::size_t repeats = 10;
  std::uint64_t seed = 1;
  int threads = 0;  // as for ParallelFor
};

/// Durations that one predictor gave for held-out rows, by repeat.
struct HeldOutPredictions {
  std::string predictor;
  std::vector<std::vector<double>> durations_ns;  // [repeat][row], rows in the order of `rows`
};

struct CrossValidation {
  std::vector<std::uint32_t> rows;             // evaluated rows: indices of the table
  std::vector<HeldOutPredictions> predictors;  // ours is the first
};

/// Evaluates predictors on held-out rows:
///   "ours": all forms of shrunken medians combined;
///   "ours, one form": the best form of a cross-validation within the training rows;
///   "per-name median": of ln(together / alone), by kernel name and overlap above 0.5;
///   "no slowdown" and "constant 1.3" (a factor while overlapped).
/// Rows of the clock step are excluded. Same numbers for any number of threads.
[[nodiscard]] CrossValidation CrossValidate(std::span<const KernelRow> rows,
                                            const ClockStep& clock_step,
                                            const CrossValidationOptions& options);

[[nodiscard]] std::span<const std::string_view> PredictorNames();

/// The number of forms that "ours" combines.
[[nodiscard]] std::size_t NumForms();

/// Rows sorted into cells at several levels, the narrowest cells first.
struct Binning {
  std::vector<std::vector<std::uint32_t>> cell_of_row;  // [level][row]
};

/// A binning and the weight of the next wider cell, in rows.
struct Form {
  const Binning* binning = nullptr;
  double prior = 1;
};

/// Predicts ln(together / alone) as the value with the least mean |error| of the duration: the
/// median of the rows in a cell, each weighted by alone / together, since that is the cost of an
/// error of the ratio there. A cell is shrunk towards the next wider one, as if it had `prior`
/// more rows distributed like those of the wider cell, so that a single outlier does not determine
/// its cell. Several forms have equal weights before the median is taken.
class ShrunkenMedians {
 public:
  /// `log_ratios` has every row; `train` lists the training rows. Binnings and log ratios must
  /// outlive it.
  ShrunkenMedians(std::span<const Form> forms, std::span<const double> log_ratios,
                  std::span<const std::uint32_t> train);

  /// Predicts any row of the binnings; 0 if none of its cells has a training row.
  [[nodiscard]] double Predict(std::uint32_t row);

 private:
  [[nodiscard]] double MedianOf(std::uint32_t row) const;
  [[nodiscard]] std::vector<double> SharesOf(std::size_t form, std::uint32_t row) const;
  [[nodiscard]] std::vector<double> WeightsFor(std::uint32_t row) const;

  std::vector<Form> forms_;
  std::span<const double> log_ratios_;
  std::vector<std::uint32_t> train_;                               // by log ratio
  std::vector<std::vector<std::vector<std::uint32_t>>> num_rows_;  // [form][level][cell]
  std::map<std::vector<std::uint32_t>, double> of_narrowest_;      // by the first cell of each form
};

}  // namespace orrery::compat::echo
