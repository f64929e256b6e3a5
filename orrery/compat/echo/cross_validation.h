#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/compat/echo/echo_rows.h"
#include "orrery/compat/echo/schedule.h"

namespace orrery::compat::echo {

/// What is held out together.
enum class HeldOut : std::uint8_t {
  kSlowdowns,  // all that ran from the begin of one communication to the next: the honest one
  kRows,       // each row for itself, as Echo's users do: neighbours of a test row are trained on
};

struct CrossValidationOptions {
  HeldOut held_out = HeldOut::kSlowdowns;
  std::size_t folds = 5;
  std::size_t repeats = 10;
  std::uint64_t seed = 1;
  int threads = 0;  // as for ParallelFor
};

/// Durations that one predictor gave for rows it had not seen, repeat after repeat.
struct HeldOutPredictions {
  std::string predictor;
  std::vector<std::vector<double>> durations_ns;  // [repeat][row], rows in the order of `rows`
};

struct CrossValidation {
  std::vector<std::uint32_t> rows;             // that were evaluated: indices of the table
  std::vector<HeldOutPredictions> predictors;  // ours is the first
};

/// Evaluates rows that no predictor saw:
///   "ours": all forms of shrunken medians together, none chosen;
///   "ours, one form": the form that a cross-validation inside of the training part likes best;
///   "per-name median": of ln(together / alone), by kernel name and overlap above 0.5;
///   "no slowdown" and "constant 1.3" (a factor while overlapped).
/// Rows of the clock step are left out altogether. Same numbers for any number of threads.
[[nodiscard]] CrossValidation CrossValidate(std::span<const EchoRow> rows,
                                            const ClockStep& clock_step,
                                            const CrossValidationOptions& options);

/// Names of the predictors, in the order of CrossValidation::predictors.
[[nodiscard]] std::span<const std::string_view> PredictorNames();

/// How many forms "ours" puts together.
[[nodiscard]] std::size_t NumForms();

}  // namespace orrery::compat::echo
