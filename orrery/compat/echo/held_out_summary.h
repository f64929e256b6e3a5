#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "orrery/compat/echo/cross_validation.h"
#include "orrery/compat/echo/echo_rows.h"

namespace orrery::compat::echo {

/// How much lower or higher the mean |error| of overlapped rows is than the per-name median's, in
/// percentage points, and where it lies with a probability of 95 %.
struct Difference {
  double mean = 0;
  double low = 0;
  double high = 0;
  double low_99 = 0;  // with 99 %, for a reader who counts the forms that were tried before
  double high_99 = 0;

  [[nodiscard]] bool ExcludesEquality() const { return low > 0 || high < 0; }
};

/// Figures of one predictor, means over the repeats, in percent.
struct PredictorSummary {
  std::string predictor;
  double mape = 0;  // of the duration, overlapped rows
  double within_5 = 0;
  double within_10 = 0;
  double within_15 = 0;
  double r2_of_logs = 0;  // not in percent
  double mape_all = 0;    // with the rows that do not overlap
  double total = 0;       // error of the sum of all rows, with its sign
  double total_overlapped = 0;
  Difference from_median = {};
};

/// Rows of a slowdown are not independent: they met the same communication. So whole slowdowns are
/// drawn with replacement, 10,000 times, and the errors of a row are averaged over the repeats
/// first: repeats of one table are no new data.
[[nodiscard]] std::vector<PredictorSummary> Summarise(std::span<const EchoRow> rows,
                                                      const CrossValidation& validation);

}  // namespace orrery::compat::echo
