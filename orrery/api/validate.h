#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orrery/api/call.h"
#include "orrery/api/export.h"
#include "orrery/api/fields.h"
#include "orrery/api/session.h"
#include "orrery/base/error.h"
#include "orrery/report/document.h"

// Predicted against measured steps of published runs, and the order of their plans.

namespace orrery {
class WorkDealer;
}  // namespace orrery

namespace orrery::api {

struct ValidateRequest {
  std::string truth = {};  // table of measured runs; empty: the one that the program has
  std::string source = {};
  std::vector<std::string> teams = {};
  std::vector<std::string> stacks = {};
  std::vector<std::string> grades = {};
  int most_rows = 0;                     // of a team; 0: all
  std::vector<std::string> models = {};  // files; empty: the shipped ones
  std::string frameworks = {};           // file; empty: the shipped scalars
  bool leave_team_out = false;
  std::vector<std::string> settings = {};  // declared properties of frameworks, of all rows
  std::vector<std::string> without = {};  // mechanisms of the simulator
  std::string overlap = "model";
  std::string network = {};  // alone or shared; empty: shared over several nodes
  int threads = 0;           // 0: one for each core
  CallOptions call = {};
};

/// Errors of predicted steps in percent of the measured ones; NaN without simulated rows.
struct StepErrors {
  std::int64_t rows = 0;
  std::int64_t simulated = 0;
  double mape = 0;
  double median = 0;
};

/// Errors of rows that share a source, a team or another property, which is its name.
struct StepErrorGroup {
  std::optional<std::string> source = {};
  std::optional<std::string> team = {};
  std::optional<std::string> name = {};  // of groups by other properties
  StepErrors errors = {};
  double max = 0;
  double bias = 0;
  double coverage_80 = 0;
};

/// Errors of the predicted peak of memory on the last rank in percent of the measured one
/// (`peak_memory_bytes`).
struct PeakErrors {
  std::int64_t rows = 0;  // simulated ones with a measured peak
  double mape = 0;
  double median = 0;
  double max = 0;
  double bias = 0;
};

struct GpuPeakErrors {
  std::string gpu;
  PeakErrors errors = {};
};

struct RefusedRow {
  std::string id;
  std::string reason;
};

struct ValidatedRow {
  std::string id;
  double measured_s = 0;
  double predicted_s = 0;
  double low_s = 0;
  double high_s = 0;
  std::optional<std::int64_t> measured_peak_bytes = {};
  std::optional<std::int64_t> predicted_peak_bytes = {};  // of rows with a measured one
  std::string derived_from = {};
  std::vector<std::string> assumed = {};
};

struct ValidateResult {
  StepErrors errors = {};
  std::vector<StepErrorGroup> sources = {};
  std::vector<RefusedRow> refused = {};
  std::vector<ValidatedRow> predictions = {};  // in the order of the table
  double max = 0;
  double bias = 0;
  double coverage_80 = 0;
  StepErrors headline = {};  // rows of grade A and A-
  std::vector<StepErrorGroup> stacks = {};
  std::vector<StepErrorGroup> teams = {};
  std::vector<StepErrorGroup> releases = {};
  std::vector<StepErrorGroup> grades = {};
  std::vector<StepErrorGroup> gpus = {};
  std::vector<StepErrorGroup> scales = {};
  std::vector<StepErrorGroup> dimensions = {};
  std::vector<std::string> out_of_memory = {};
  std::optional<PeakErrors> peak_memory = {};  // of rows with a measured peak
  std::vector<GpuPeakErrors> peak_memory_gpus = {};
  std::string fit;                           // "in sample" or "left out"
  std::optional<StepErrors> in_sample = {};  // rows that the fit has seen
  std::optional<StepErrors> held_out = {};   // and all others

  // Not part of the JSON.
  std::shared_ptr<const report::Document> document = {};  // without its data
};

/// A plan of a group of runs that differ in nothing else. Runs with the same plan are one.
struct MeasuredPlan {
  std::string plan;
  std::vector<std::string> ids;
  double predicted_s = 0;
  double measured_s = 0;
};

struct RankedGroup {
  std::string source;
  std::string team;
  std::string release;
  std::string model;
  std::string gpu;
  std::int64_t gpus = 0;
  std::int64_t batch = 0;
  std::int64_t sequence = 0;
  std::string framework;
  std::int64_t rows = 0;
  std::int64_t plans = 0;
  double regret = 0;
  double best_rank = 0;
  bool best_in_first_three = false;
  double spearman = 0;
  MeasuredPlan first_choice = {};
  MeasuredPlan measured_best = {};
};

/// The quality of choices over groups; NaN without groups.
struct RankingErrors {
  std::int64_t groups = 0;
  double mean_regret = 0;
  double median_regret = 0;
  double max_regret = 0;
  double top3_share = 0;
  double mean_spearman = 0;
};

struct RankedSource {
  std::string source;
  RankingErrors errors = {};
};

struct RankPlansResult {
  RankingErrors errors = {};
  std::int64_t rows = 0;
  std::int64_t simulated = 0;
  std::int64_t rows_in_groups = 0;
  std::int64_t least_rows = 0;
  std::vector<RankedSource> sources = {};
  std::vector<RankedGroup> groups = {};

  // Not part of the JSON.
  std::shared_ptr<const report::Document> document = {};  // without its data
};

/// Simulates the rows of a table on the threads of this process.
[[nodiscard]] ORRERY_API Result<ValidateResult> Validate(const Session& session,
                                                         const ValidateRequest& request);

/// Evaluates the order of plans instead of times: groups of rows that differ only in their plan.
[[nodiscard]] ORRERY_API Result<RankPlansResult> RankPlans(const Session& session,
                                                           const ValidateRequest& request);

// The same on all workers of a dealer; on processes other than the root results are empty.

[[nodiscard]] Result<ValidateResult> ValidateWith(const Session& session,
                                                  const ValidateRequest& request,
                                                  WorkDealer& dealer);
[[nodiscard]] Result<RankPlansResult> RankPlansWith(const Session& session,
                                                    const ValidateRequest& request,
                                                    WorkDealer& dealer);

[[nodiscard]] ORRERY_API report::Document MakeDocument(const ValidateResult& result);
[[nodiscard]] ORRERY_API report::Document MakeDocument(const RankPlansResult& result);

ORRERY_HAS_FIELDS(ValidateRequest);
ORRERY_HAS_FIELDS(StepErrors);
ORRERY_HAS_FIELDS(StepErrorGroup);
ORRERY_HAS_FIELDS(PeakErrors);
ORRERY_HAS_FIELDS(GpuPeakErrors);
ORRERY_HAS_FIELDS(RefusedRow);
ORRERY_HAS_FIELDS(ValidatedRow);
ORRERY_HAS_FIELDS(ValidateResult);
ORRERY_HAS_FIELDS(MeasuredPlan);
ORRERY_HAS_FIELDS(RankedGroup);
ORRERY_HAS_FIELDS(RankedSource);
ORRERY_HAS_FIELDS(RankPlansResult);

}  // namespace orrery::api
