#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orrery/api/call.h"
#include "orrery/api/error_metrics.h"  // IWYU pragma: export
#include "orrery/api/evaluate_echo.h"  // IWYU pragma: export
#include "orrery/api/export.h"
#include "orrery/api/fields.h"
#include "orrery/api/session.h"
#include "orrery/base/error.h"
#include "orrery/report/document.h"

// Errors of models on measured rows: operators, collectives, kernels that run beside communication,
// and how steps vary.

namespace orrery::api {

struct EvaluateKernelsRequest {
  std::vector<std::string> paths;
  std::vector<std::string> models = {};  // files; empty: the shipped ones
  std::string split = {};                // empty: all rows are evaluated
  bool unseen_gpu = false;
  double max_spread = 100;  // percent
  CallOptions call = {};
};

/// Errors on one operator, GPU, type and timing.
struct KernelErrors {
  std::string op;
  std::string gpu;
  std::string dtype;
  std::string timing;
  ErrorMetrics errors = {};
};

struct EvaluateKernelsResult {
  std::string split;
  ErrorMetrics overall = {};
  std::vector<KernelErrors> groups = {};
  std::int64_t rejected_rows = 0;

  // Not part of the JSON.
  bool is_partial = false;                                // rows were rejected
  std::shared_ptr<const report::Document> document = {};  // without its data
};

/// Smaller messages are latency alone.
inline constexpr std::int64_t kLeastMessageBytes = 1024;

struct EvaluateCollectivesRequest {
  std::vector<std::string> paths;
  std::string model = {};  // file; empty: the shipped constants
  std::string split = {};  // empty: all rows are evaluated
  bool unseen_machine = false;
  std::string cluster = {};
  std::int64_t min_bytes = kLeastMessageBytes;
  CallOptions call = {};
};

struct CollectiveErrors {
  std::string source;
  std::string machine;
  std::string collective;
  int gpus = 0;
  ErrorMetrics errors = {};
};

struct EvaluateCollectivesResult {
  ErrorMetrics overall = {};
  std::vector<CollectiveErrors> groups = {};

  // Not part of the JSON.
  bool is_partial = false;                // rows were rejected
  std::vector<std::string> notices = {};  // sentences on the rows
  std::shared_ptr<const report::Document> document = {};
};

/// Tables of operators and of collectives; the options are those of operators.
struct EvaluateAllRequest {
  EvaluateKernelsRequest kernels = {};  // its call is not used
  bool is_fitted_data = false;          // the shipped models have learned from the tables
  CallOptions call = {};
};

struct FamilyErrors {
  std::string family;
  std::string timing = {};                                // of kernels
  std::optional<std::vector<std::string>> gpus = {};      // of kernels
  std::optional<std::vector<std::string>> machines = {};  // of collectives
  ErrorMetrics errors = {};
};

struct EvaluateAllResult {
  std::string split;
  std::vector<FamilyErrors> families = {};
  std::int64_t rejected_rows = 0;

  // Not part of the JSON.
  bool is_partial = false;  // rows were rejected
  std::shared_ptr<const report::Document> document = {};
};

struct EvaluateOverlapRequest {
  std::vector<std::string> paths;
  std::vector<std::string> counters = {};
  std::string model = {};  // file; it is evaluated on all rows, whatever held_out says
  std::string held_out = "kernel";
  std::uint64_t seed = 7;
  CallOptions call = {};
};

struct OverlapPredictorErrors {
  std::string name;
  ErrorMetrics errors = {};
  double r2_of_stretch = 0;
};

/// Delays of communication that waits for room.
struct DelayErrors {
  std::int64_t waited = 0;
  double median_error = 0;
  double precision = 0;
  double recall = 0;
};

struct OverlapGroupErrors {
  std::string by;
  std::string name;
  ErrorMetrics errors = {};
};

struct FeatureImportance {
  std::string features;
  double increase = 0;
};

struct EvaluateOverlapResult {
  std::string judged;  // the rows
  std::vector<OverlapPredictorErrors> predictors = {};
  OverlapPredictorErrors as_planned = {};
  ErrorMetrics communication = {};
  DelayErrors delays = {};
  double noise_floor = 0;
  std::vector<OverlapGroupErrors> groups = {};
  std::vector<FeatureImportance> importance = {};

  // Not part of the JSON.
  bool is_partial = false;                // rows were rejected
  std::vector<std::string> notices = {};  // sentences on the rows
  std::shared_ptr<const report::Document> document = {};
};

struct EvaluateJitterRequest {
  std::string path;
  CallOptions call = {};
};

/// Kolmogorov–Smirnov distances of all groups.
struct JitterDistances {
  double mean = 0;
  double median = 0;
  double largest = 0;
  double share_below_0_208 = 0;
};

/// Widths and percentiles are relative to the median of the run; percentiles lie above it.
struct JitterGroup {
  std::string system;
  std::string benchmark;
  std::string gpu;
  int gpus = 0;
  int window = 1;
  std::int64_t records = 0;
  double ks = 0;
  double ks_system = 0;
  double step_sigma = 0;
  double measured_sigma = 0;
  double predicted_sigma = 0;
  double measured_p95 = 0;
  double predicted_p95 = 0;
  double measured_p99 = 0;
  double predicted_p99 = 0;
};

/// Groups of one GPU and order of scale; medians over them.
struct JitterScale {
  std::string gpu;
  std::string gpus;  // "9 to 99"
  std::int64_t groups = 0;
  double step_sigma = 0;
  double least_sigma = 0;
  double most_sigma = 0;
  double p99 = 0;
  double ks = 0;
};

struct EvaluateJitterResult {
  JitterDistances submitter_left_out = {};
  JitterDistances system_left_out = {};
  double p99_ratio = 0;
  double p99_within_factor_2 = 0;
  std::int64_t records = 0;
  std::int64_t records_in_warm_up = 0;
  std::int64_t records_at_the_end = 0;
  std::int64_t records_in_small_groups = 0;
  std::vector<JitterGroup> groups = {};
  std::vector<JitterScale> scales = {};
};

[[nodiscard]] ORRERY_API Result<EvaluateKernelsResult> EvaluateKernels(
    const Session& session, const EvaluateKernelsRequest& request);

[[nodiscard]] ORRERY_API Result<EvaluateCollectivesResult> EvaluateCollectives(
    const Session& session, const EvaluateCollectivesRequest& request);

[[nodiscard]] ORRERY_API Result<EvaluateAllResult> EvaluateAll(const Session& session,
                                                               const EvaluateAllRequest& request);

[[nodiscard]] ORRERY_API Result<EvaluateOverlapResult> EvaluateOverlap(
    const Session& session, const EvaluateOverlapRequest& request);

[[nodiscard]] ORRERY_API Result<EvaluateJitterResult> EvaluateJitter(
    const Session& session, const EvaluateJitterRequest& request);

/// The first table of its CSV has a line for each evaluated row; so has that of overlap.
[[nodiscard]] ORRERY_API report::Document MakeDocument(const EvaluateKernelsResult& result);

[[nodiscard]] ORRERY_API report::Document MakeDocument(const EvaluateCollectivesResult& result);

[[nodiscard]] ORRERY_API report::Document MakeDocument(const EvaluateAllResult& result);

[[nodiscard]] ORRERY_API report::Document MakeDocument(const EvaluateOverlapResult& result);

[[nodiscard]] ORRERY_API report::Document MakeDocument(const EvaluateJitterResult& result);

ORRERY_HAS_FIELDS(EvaluateKernelsRequest);
ORRERY_HAS_FIELDS(KernelErrors);
ORRERY_HAS_FIELDS(EvaluateKernelsResult);
ORRERY_HAS_FIELDS(EvaluateCollectivesRequest);
ORRERY_HAS_FIELDS(CollectiveErrors);
ORRERY_HAS_FIELDS(EvaluateCollectivesResult);
ORRERY_HAS_FIELDS(EvaluateAllRequest);
ORRERY_HAS_FIELDS(FamilyErrors);
ORRERY_HAS_FIELDS(EvaluateAllResult);
ORRERY_HAS_FIELDS(EvaluateOverlapRequest);
ORRERY_HAS_FIELDS(OverlapPredictorErrors);
ORRERY_HAS_FIELDS(DelayErrors);
ORRERY_HAS_FIELDS(OverlapGroupErrors);
ORRERY_HAS_FIELDS(FeatureImportance);
ORRERY_HAS_FIELDS(EvaluateOverlapResult);
ORRERY_HAS_FIELDS(EvaluateJitterRequest);
ORRERY_HAS_FIELDS(JitterDistances);
ORRERY_HAS_FIELDS(JitterGroup);
ORRERY_HAS_FIELDS(JitterScale);
ORRERY_HAS_FIELDS(EvaluateJitterResult);

}  // namespace orrery::api
