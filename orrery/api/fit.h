#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orrery/api/call.h"
#include "orrery/api/export.h"
#include "orrery/api/fields.h"
#include "orrery/api/fit_overlap.h"  // IWYU pragma: export
#include "orrery/api/input/run_input.h"
#include "orrery/api/session.h"
#include "orrery/base/error.h"
#include "orrery/report/document.h"

// Fits of the models that predictions use: each reads measurements and writes a file.

namespace orrery::api {

/// Times of operators.
struct FitKernelsRequest {
  std::vector<std::string> paths = {};
  std::string output = {};  // model file, or a folder (an ending /)
  std::string gpu = {};     // empty: all
  double max_spread = 20;   // of repeats, in percent
  std::uint64_t seed = 1;
  bool no_figures = false;
  CallOptions call = {};
};

struct FitKernelsResult {
  std::string output;
  std::vector<std::string> files = {};
  std::int64_t models = 0;
  std::int64_t rows = 0;
  double bytes = 0;
  std::int64_t rejected_rows = 0;

  // Not part of the JSON.
  std::vector<std::string> notices = {};  // sentences beside the text
  bool is_partial = false;
};

/// Corrections for GPUs with few measurements.
struct FitSiblingsRequest {
  std::vector<std::string> paths = {};
  std::string output = {};
  std::vector<std::string> gpus = {};  // empty: all
  CallOptions call = {};
};

struct FitSiblingsResult {
  std::string output;
  std::int64_t operators = 0;
  std::int64_t rows = 0;
  std::int64_t rejected_rows = 0;

  // Not part of the JSON.
  std::vector<std::string> notices = {};
  bool is_partial = false;
};

/// Constants of machines, from measured collectives.
struct FitCollectivesRequest {
  std::vector<std::string> paths = {};
  std::string output = {};
  std::string cluster = {};  // of data that do not name it
  CallOptions call = {};
};

/// A constant that the rows drive to a bound, and which therefore keeps its prior.
struct FitBound {
  std::string constant;
  double least = 0;
  double most = 0;
  double value = 0;
};

struct FitOutlier {
  std::string file;
  std::int64_t line = 0;  // 0: not known
  std::string collective = {};
  std::int64_t bytes = 0;
  int gpus = 0;
  double measured_s = 0;
  double fitted_s = 0;
};

struct FittedMachine {
  std::string machine;
  std::string source;
  std::string setup;
  std::int64_t rows = 0;
  int most_gpus = 0;
  std::string nccl_version = {};
  bool version_told = false;
  std::string settings = {};  // of NCCL, assumed
  int machines_of_class = 1;
  Keyed<double> constants = {};
  std::vector<FitBound> at_bounds = {};
  double mape = 0;
  double median = 0;
  std::optional<double> large_mape = {};
  std::vector<FitOutlier> outliers = {};
};

struct FitCollectivesResult {
  std::string output;
  std::vector<FittedMachine> machines = {};
  std::vector<std::string> skipped = {};  // machines, with the reason
  std::int64_t rejected_rows = 0;
  std::int64_t rows_without_gpu = 0;

  // Not part of the JSON.
  std::vector<std::string> notices = {};
  bool is_partial = false;
};

/// Power of boards, from sustained times.
struct FitPowerRequest {
  std::vector<std::string> paths = {};
  std::string output = {};
  CallOptions call = {};
};

struct FittedBoard {
  std::string gpu;
  double idle_w = 0;
  double active_w = 0;
  double tensor_w = 0;
  double memory_w = 0;
  double narrow = 1;
  double burst_short = 1;
  double burst_long = 1;
  std::int64_t rows = 0;
};

/// Errors on sustained times of shapes that were held out.
struct FitPowerErrors {
  std::string gpu;
  std::string op;
  std::string type;
  std::string predicted;  // "burst", "sustained"
  std::int64_t rows = 0;
  double mape = 0;
  double gmae = 0;
  double median = 0;
  double p95 = 0;
  double within_10 = 0;
  double bias = 0;
  double r2 = 0;
};

struct FitPowerResult {
  std::string output;
  std::vector<FittedBoard> boards = {};
  std::vector<FitPowerErrors> errors = {};
  std::int64_t rejected_rows = 0;

  // Not part of the JSON.
  std::vector<std::string> notices = {};
  bool is_partial = false;
};

/// CPU time of operators and launches, from recordings.
struct FitHostRequest {
  std::vector<std::string> paths = {};
  std::string steps = {};
  std::vector<std::string> measured_kernels = {};
  std::optional<double> profiler_cost_us = {};
  std::vector<std::string> without = {};
  std::string output = {};
  RunInput run = {};  // options of reading; its paths are not used
  CallOptions call = {};
};

struct FitHostResult {
  std::string output;
  std::int64_t entries = 0;
  std::int64_t recordings = 0;
  double profiler_cost_us = 0;

  // Not part of the JSON.
  std::vector<std::string> notices = {};
};

/// Variation of the times of healthy steps, from logged steps.
struct FitJitterRequest {
  std::string path = {};
  std::string output = {};  // empty: none
  CallOptions call = {};
};

struct FitJitterResult {
  std::int64_t records = 0;
  std::int64_t in_warm_up = 0;
  std::int64_t at_the_end = 0;
  std::int64_t in_small_groups = 0;
  int systems = 0;
  int submitters = 0;
  int least_gpus = 0;
  int most_gpus = 0;
  std::vector<std::string> gpus = {};
  double step_sigma = 0;
  double sigma_of_32_steps = 0;
  double sigma_deviation = 0;
  double stalls_per_gpu_s = 0;
  std::optional<double> median_stall_s = {};
  std::optional<double> p99_stall_s = {};
  std::optional<double> longest_stall_s = {};
};

/// Efficiency of frameworks, from published runs.
struct FitFrameworksRequest {
  std::vector<std::string> paths = {};
  std::string output = {};  // empty: none
  std::string without_stack = {};
  std::string without_team = {};
  std::string overlap = "model";
  CallOptions call = {};
};

struct FittedFramework {
  std::string name;
  std::int64_t rows = 0;
  double error_before = 0;
  double error_after = 0;
  Keyed<double> scalars = {};
};

struct FitFrameworksResult {
  std::vector<FittedFramework> frameworks;
};

[[nodiscard]] ORRERY_API Result<FitKernelsResult> FitKernels(const Session& session,
                                                             const FitKernelsRequest& request);

[[nodiscard]] ORRERY_API Result<FitSiblingsResult> FitSiblings(const Session& session,
                                                               const FitSiblingsRequest& request);

[[nodiscard]] ORRERY_API Result<FitCollectivesResult> FitCollectives(
    const Session& session, const FitCollectivesRequest& request);

[[nodiscard]] ORRERY_API Result<FitPowerResult> FitPower(const Session& session,
                                                         const FitPowerRequest& request);

[[nodiscard]] ORRERY_API Result<FitHostResult> FitHost(const Session& session,
                                                       const FitHostRequest& request);

[[nodiscard]] ORRERY_API Result<FitJitterResult> FitJitter(const Session& session,
                                                           const FitJitterRequest& request);

[[nodiscard]] ORRERY_API Result<FitFrameworksResult> FitFrameworks(
    const Session& session, const FitFrameworksRequest& request);

// The result in lines of text, which are not broken as those of a document are.

[[nodiscard]] ORRERY_API std::string FitText(const FitKernelsResult& result);
[[nodiscard]] ORRERY_API std::string FitText(const FitSiblingsResult& result);
[[nodiscard]] ORRERY_API std::string FitText(const FitCollectivesResult& result);
[[nodiscard]] ORRERY_API std::string FitText(const FitHostResult& result);
[[nodiscard]] ORRERY_API std::string FitText(const FitJitterResult& result);
[[nodiscard]] ORRERY_API std::string FitText(const FitFrameworksResult& result);

[[nodiscard]] ORRERY_API report::Document MakeDocument(const FitKernelsResult& result);
[[nodiscard]] ORRERY_API report::Document MakeDocument(const FitSiblingsResult& result);
[[nodiscard]] ORRERY_API report::Document MakeDocument(const FitCollectivesResult& result);
[[nodiscard]] ORRERY_API report::Document MakeDocument(const FitPowerResult& result);
[[nodiscard]] ORRERY_API report::Document MakeDocument(const FitHostResult& result);
[[nodiscard]] ORRERY_API report::Document MakeDocument(const FitJitterResult& result);
[[nodiscard]] ORRERY_API report::Document MakeDocument(const FitFrameworksResult& result);

ORRERY_HAS_FIELDS(FitKernelsRequest);
ORRERY_HAS_FIELDS(FitSiblingsRequest);
ORRERY_HAS_FIELDS(FitCollectivesRequest);
ORRERY_HAS_FIELDS(FitPowerRequest);
ORRERY_HAS_FIELDS(FitHostRequest);
ORRERY_HAS_FIELDS(FitJitterRequest);
ORRERY_HAS_FIELDS(FitFrameworksRequest);
ORRERY_HAS_FIELDS(FitKernelsResult);
ORRERY_HAS_FIELDS(FitSiblingsResult);
ORRERY_HAS_FIELDS(FitBound);
ORRERY_HAS_FIELDS(FitOutlier);
ORRERY_HAS_FIELDS(FittedMachine);
ORRERY_HAS_FIELDS(FitCollectivesResult);
ORRERY_HAS_FIELDS(FittedBoard);
ORRERY_HAS_FIELDS(FitPowerErrors);
ORRERY_HAS_FIELDS(FitPowerResult);
ORRERY_HAS_FIELDS(FitHostResult);
ORRERY_HAS_FIELDS(FitJitterResult);
ORRERY_HAS_FIELDS(FittedFramework);
ORRERY_HAS_FIELDS(FitFrameworksResult);

}  // namespace orrery::api
