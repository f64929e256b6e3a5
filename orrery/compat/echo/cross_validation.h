#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/compat/echo/rows.h"

namespace orrery::compat::echo {

/// The unit that is held out.
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

/// Names of the predictors, in the order of CrossValidation::predictors.
[[nodiscard]] std::span<const std::string_view> PredictorNames();

/// The number of forms that "ours" combines.
[[nodiscard]] std::size_t NumForms();

}  // namespace orrery::compat::echo
