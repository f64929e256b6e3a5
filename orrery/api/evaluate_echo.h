#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orrery/api/call.h"
#include "orrery/api/error_metrics.h"
#include "orrery/api/export.h"
#include "orrery/api/fields.h"
#include "orrery/api/session.h"
#include "orrery/base/error.h"
#include "orrery/report/document.h"

// Echo's model of slowdown and ours, on Echo's public table (docs/validation/echo-slowdown.md).

namespace orrery::api {

struct EvaluateEchoRequest {
  std::string folder;
  int repeats = 10;
  CallOptions call = {};
};

struct EchoLine {
  std::string label;
  double value = 0;
  std::optional<double> error_percent = {};
};

struct EchoModelErrors {
  std::string feeding;
  double r2_of_slowdown = 0;
  double r2_trained = 0;
  double r2_held_out = 0;
  ErrorMetrics overlapped = {};
  ErrorMetrics held_out = {};
  ErrorMetrics held_out_overlapped = {};
};

/// A difference in percentage points, with its intervals.
struct EchoDifference {
  double mean = 0;
  double low = 0;
  double high = 0;
  double low_99 = 0;
  double high_99 = 0;
  bool excludes_equality = false;
};

struct EchoPredictorErrors {
  std::string predictor;
  double mape = 0;
  EchoDifference mape_minus_median = {};
  double within_5 = 0;
  double within_10 = 0;
  double within_15 = 0;
  double r2 = 0;
  double mape_all = 0;
  double total = 0;
  double total_overlapped = 0;
};

struct EchoCrossValidation {
  std::string held_out;
  std::int64_t folds = 0;
  std::int64_t repeats = 0;
  std::int64_t rows = 0;
  std::vector<EchoPredictorErrors> predictors = {};
};

struct EvaluateEchoResult {
  std::int64_t rows = 0;
  std::int64_t trees = 0;
  std::int64_t nodes = 0;
  Keyed<double> gain_shares = {};
  std::vector<EchoLine> published = {};
  std::optional<bool> published_agree = {};  // none: there is nothing to compare with
  std::vector<EchoModelErrors> fed = {};
  std::vector<std::int64_t> left_out_ids = {};
  std::int64_t stretches = 0;
  std::int64_t forms = 0;
  double noise_low = 0;
  double noise_high = 0;
  std::vector<EchoCrossValidation> cross_validation = {};

  // Not part of the JSON.
  bool is_partial = false;  // a published line was not reproduced
  std::shared_ptr<const report::Document> document = {};
};

[[nodiscard]] ORRERY_API Result<EvaluateEchoResult> EvaluateEcho(
    const Session& session, const EvaluateEchoRequest& request);

/// The first table of its CSV has a line for each row.
[[nodiscard]] ORRERY_API report::Document MakeDocument(const EvaluateEchoResult& result);

ORRERY_HAS_FIELDS(EvaluateEchoRequest);
ORRERY_HAS_FIELDS(EchoLine);
ORRERY_HAS_FIELDS(EchoModelErrors);
ORRERY_HAS_FIELDS(EchoDifference);
ORRERY_HAS_FIELDS(EchoPredictorErrors);
ORRERY_HAS_FIELDS(EchoCrossValidation);
ORRERY_HAS_FIELDS(EvaluateEchoResult);

}  // namespace orrery::api
