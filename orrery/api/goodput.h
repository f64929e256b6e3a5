#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orrery/api/call.h"
#include "orrery/api/export.h"
#include "orrery/api/fields.h"
#include "orrery/api/input/job_input.h"
#include "orrery/api/session.h"
#include "orrery/base/error.h"
#include "orrery/report/document.h"

// A month of a training job with failures: effective training time, cost, advice.

namespace orrery::api {

/// The job and its surroundings. Texts have the form of the options of `orrery goodput`; empty ones
/// have the defaults that `GoodputResult::assumed` says.
struct GoodputRequest {
  std::string job = {};        // file
  std::string job_yaml = {};   // the text of a job, instead of a file
  JobInput changes = {};       // of the job
  std::string step_time = {};  // "6.2s"; empty: simulated
  double days = 30;
  std::string node_mtbf = {};  // "20d", instead of failures
  std::string failures = {};   // a set, a file, a log (.csv) or "none"
  std::string detect = {};
  std::string restart = {};
  std::string repair = {};
  std::string spares = "auto";
  bool elastic = false;
  std::string slow_nodes = {};  // "200d:1.3:1h"
  std::string checkpoint = "auto";
  bool async = false;
  bool checkpoint_traffic = false;
  std::string storage = {};
  std::string checkpoint_size = {};
  std::string storage_capacity = {};
  std::string price = {};  // "2.5", or "H100=2.5,A100-80GB=1.1"
  std::uint64_t runs = 1'000;
  std::uint64_t seed = 0;
  int threads = 0;  // 0: one for each core

  CallOptions call = {};
};

struct GoodputCheckpoint {
  std::int64_t bytes = 0;
  std::optional<double> slowdown_s = {};
  double stall_s = 0;
  double write_s = 0;
  double load_s = 0;
  std::optional<double> best_interval_s = {};
  std::optional<double> young_s = {};
  std::optional<double> daly_s = {};
};

/// The same windows with another checkpoint interval or other spares.
struct GoodputAlternative {
  std::optional<double> checkpoint_interval_s = {};
  std::int64_t spares = 0;
  double ettr_mean = 0;
  double ettr_p10 = 0;
  double ettr_p90 = 0;
  std::optional<double> ettr_expected = {};
  double paid_share = 0;
  std::optional<double> yield_per_dollar = {};
  Keyed<double> lost = {};
};

struct GoodputAnswer;

/// Simulated windows. Times and counts are means over them.
struct GoodputResult {
  double ettr_mean = 0;
  double ettr_p10 = 0;
  double ettr_p50 = 0;
  double ettr_p90 = 0;
  std::optional<double> ettr_expected = {};
  double window_s = 0;
  double productive_s = 0;
  Keyed<double> lost = {};
  double steps = 0;
  double step_time_s = 0;
  bool step_is_simulated = true;
  std::optional<double> step_low_s = {};
  std::optional<double> step_high_s = {};
  std::optional<double> tokens = {};
  double samples = 0;
  double samples_low = 0;
  double samples_high = 0;
  std::optional<double> dollars = {};
  double failures = 0;
  Keyed<double> failures_by_part = {};
  std::string rates = {};
  std::optional<double> mtbf_s = {};
  std::optional<double> checkpoint_interval_s = {};
  GoodputCheckpoint checkpoint = {};
  double checkpoints = 0;
  double planned_stops = 0;
  std::int64_t gpus = 0;
  std::int64_t nodes = 0;
  std::int64_t replicas = 0;
  std::int64_t spares = 0;
  std::vector<GoodputAlternative> intervals = {};
  std::vector<GoodputAlternative> spares_tried = {};
  std::int64_t runs = 0;
  std::string seed = {};  // text, since JSON numbers lose the digits of large seeds
  bool out_of_memory = false;
  std::vector<std::string> assumed = {};
  std::vector<std::string> left_out = {};
  std::vector<std::string> not_modelled = {};
  std::string job = {};

  std::shared_ptr<const GoodputAnswer> answer = {};  // for the document
};

/// Simulates the step of a job once, unless it is given, and months of such steps with failures.
/// Does not fail where the job needs more memory than its GPUs have: the result says so.
[[nodiscard]] ORRERY_API Result<GoodputResult> Goodput(const Session& session,
                                                       const GoodputRequest& request);

/// The answer for people; its data is the JSON.
[[nodiscard]] ORRERY_API report::Document MakeDocument(const GoodputResult& result);

ORRERY_HAS_FIELDS(GoodputCheckpoint);
ORRERY_HAS_FIELDS(GoodputAlternative);
ORRERY_HAS_FIELDS(GoodputRequest);
ORRERY_HAS_FIELDS(GoodputResult);

}  // namespace orrery::api
