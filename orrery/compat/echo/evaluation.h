#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/text/table.h"
#include "orrery/compat/echo/cross_validation.h"
#include "orrery/compat/echo/published.h"
#include "orrery/compat/echo/rows.h"
#include "orrery/learn/metrics.h"

namespace orrery::compat::echo {

/// The mean |error| of overlapped rows minus that of the per-name median, in percentage points,
/// with its 95 % confidence interval.
struct Difference {
  double mean = 0;
  double low = 0;
  double high = 0;
  double low_99 = 0;  // the 99 % interval, for readers who count the forms that were tried
  double high_99 = 0;

  [[nodiscard]] bool ExcludesEquality() const { return low > 0 || high < 0; }
};

/// Errors of one predictor, means over the repeats, in percent.
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

/// The durations that Echo's model predicts from one form of its inputs.
struct ModelEvaluation {
  std::string input;  // "as shipped", "standardised"
  learn::Evaluation overlapped;
  learn::Evaluation held_out;             // the test rows of Echo's split
  learn::Evaluation held_out_overlapped;  // … that overlap
  double r2_of_slowdown = 0;              // over the overlapped rows
  double r2_trained = 0;                  // … over the training rows: 1 with inputs as in training
  double r2_held_out = 0;                 // … over the test rows
};

struct HeldOutEvaluation {
  HeldOut held_out = HeldOut::kSegments;
  CrossValidation validation;
  std::vector<PredictorSummary> summaries;
};

/// The results of `orrery evaluate overlap --echo`.
struct Evaluation {
  std::vector<KernelRow> rows;
  std::size_t num_trees = 0;
  std::size_t num_nodes = 0;
  std::vector<double> gain_shares;  // in the order of kFeatures
  std::vector<PublishedLine> published;
  /// Lines that differ from output_metrics.txt; nothing without such a file.
  std::optional<std::vector<std::string>> differences;
  std::vector<float> shipped_slowdowns;
  std::vector<float> standardised_slowdowns;
  std::size_t train_rows = 0;  // of Echo's split
  std::size_t num_segments = 0;
  std::vector<ModelEvaluation> fed;
  std::vector<KernelRow> left_out;  // by the clock step
  /// 10th and 90th percentile of together / alone over rows without overlap: the noise.
  double noise_low = 0;
  double noise_high = 0;
  HeldOutEvaluation by_segment;
  HeldOutEvaluation by_row;
};

struct EvaluationOptions {
  std::size_t repeats = 10;
  int threads = 0;
};

/// Reads merged_features.csv, xgb_model.json and, if present, output_metrics.txt of a folder.
[[nodiscard]] Result<Evaluation> EvaluateFolder(const std::string& folder,
                                                const EvaluationOptions& options);

/// One line per row: times, overlap, Echo's predictions from both inputs, and held-out predictions
/// of all our predictors (means over repeats, segments held out).
[[nodiscard]] Table PredictionTable(const Evaluation& evaluation);

/// Bootstraps whole segments (10,000 resamples), since rows of a segment overlap the same
/// communication and are not independent. The errors of a row are averaged over the repeats first:
/// repeats of one table are no new data.
[[nodiscard]] std::vector<PredictorSummary> Summarise(std::span<const KernelRow> rows,
                                                      const CrossValidation& validation);

}  // namespace orrery::compat::echo
