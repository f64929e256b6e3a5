#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/table.h"
#include "orrery/learn/metrics.h"
#include "orrery/compat/echo/cross_validation.h"
#include "orrery/compat/echo/held_out_summary.h"
#include "orrery/compat/echo/published.h"

namespace orrery::compat::echo {

/// Echo's model fed in one way, evaluated on durations.
struct FedModel {
  std::string feeding;  // "as shipped", "standardised"
  learn::Evaluation overlapped;
  learn::Evaluation held_out;             // the test rows of Echo's split
  learn::Evaluation held_out_overlapped;  // … that overlap
  double r2_of_slowdown = 0;              // over the overlapped rows
  double r2_trained = 0;   // … over the training rows: 1 when it is fed as it learned
  double r2_held_out = 0;  // … over the test rows
};

/// Predictors evaluated on held-out rows.
struct HeldOutEvaluation {
  HeldOut held_out = HeldOut::kSlowdowns;
  CrossValidation validation;
  std::vector<PredictorSummary> summaries;
};

/// What `orrery evaluate overlap --echo` has to say.
struct EchoEvaluation {
  std::vector<EchoRow> rows;
  std::size_t num_trees = 0;
  std::size_t num_nodes = 0;
  std::vector<double> gain_shares;  // in the order of kFeatures
  std::vector<PublishedLine> published;
  /// Lines of output_metrics.txt that came out otherwise; nothing where there is no such file.
  std::optional<std::vector<std::string>> differences;
  std::vector<float> shipped_slowdowns;
  std::vector<float> standardised_slowdowns;
  std::size_t train_rows = 0;  // of Echo's split
  std::size_t num_slowdowns = 0;
  std::vector<FedModel> fed;
  std::vector<EchoRow> left_out;  // by the clock step
  /// together / alone of rows without overlap, 10th and 90th percentile: the noise.
  double noise_low = 0;
  double noise_high = 0;
  HeldOutEvaluation by_slowdown;
  HeldOutEvaluation by_row;
};

struct EchoOptions {
  std::size_t repeats = 10;
  int threads = 0;
};

/// Reads merged_features.csv, xgb_model.json and, where it is, output_metrics.txt of a folder.
[[nodiscard]] Result<EchoEvaluation> EvaluateEcho(const std::string& folder,
                                                  const EchoOptions& options);

/// One line a row: times, overlap, what Echo predicts fed in both ways, and the held-out
/// predictions of all our predictors (means over repeats, slowdowns held out).
[[nodiscard]] Table EchoPredictions(const EchoEvaluation& evaluation);

}  // namespace orrery::compat::echo
