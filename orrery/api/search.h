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
#include "orrery/base/document/value.h"
#include "orrery/base/error.h"
#include "orrery/report/document.h"

// The best plans of a training job, of all that fit.

namespace orrery {
class WorkDealer;
}  // namespace orrery

namespace orrery::api {

/// The job, whose section `search` says what is free, and how plans are compared. Texts have the
/// form of the options of `orrery search`.
struct SearchRequest {
  std::string job = {};       // file
  std::string job_yaml = {};  // the text of a job, instead of a file
  JobInput changes = {};      // of the job; several clusters may be named, with commas
  std::string gpus = {};      // "64..1024"; empty: those of the job
  std::string objective = "step";
  std::optional<double> memory_reserve = {};  // percent; empty: what the job says
  int keep = 20;
  std::string budget = {};  // "60s"; empty: no limit
  std::string store = {};   // file; empty: none
  bool resume = false;
  bool anyway = false;
  bool repair = false;
  std::string price = {};  // "2.5", or "H100=2.5,A100-80GB=1.1"
  std::string emit = {};   // a training tool; empty: none
  int plan = 1;            // of the kept plans: which to emit
  bool no_reasons = false;
  int threads = 0;  // 0: one for each core

  bool needs_pictures = false;  // of the document, which take another two simulations
  CallOptions call = {};
};

/// A simulated plan, and of the Pareto front what tells it apart.
struct SearchPlan {
  Value plan = {};  // its keys: {"tp": 8}
  double step_s = 0;
  double low_s = 0;
  double high_s = 0;
  std::optional<double> tokens_per_s = {};
  double samples_per_s = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t memory_usable_bytes = 0;
  double mfu = 0;
  std::int64_t gpus = 0;
  std::string cluster = {};
  double joules = 0;
  double objective = 0;
  double bound_s = 0;
  std::vector<std::string> settings = {};

  // Of the front.
  std::optional<std::int64_t> memory_left_bytes = {};
  std::optional<double> dollars_per_token = {};
  std::optional<double> joules_per_token = {};
};

/// A plan one step away from the first one.
struct SearchNeighbour {
  std::string key = {};
  Value from = {};
  Value to = {};
  double change = 0;
  bool fits = true;
  std::string reason = {};
};

struct SearchSensitivity {
  std::string resource = {};
  double change = 0;
};

struct SearchAnswer;

struct SearchResult {
  std::int64_t considered = 0;
  std::int64_t pruned_by_memory = 0;
  std::int64_t pruned_by_bound = 0;
  std::int64_t simulated = 0;
  std::int64_t too_large = 0;
  std::int64_t failed = 0;
  std::int64_t refused = 0;
  double decided_share = 1;
  double bounded_share = 1;
  double seconds = 0;
  std::vector<SearchPlan> best = {};
  std::optional<std::string> out_of_memory = {};  // no plan fits: a sentence

  // Only where there is a best plan.
  std::vector<Value> plans = {};  // rows of the table: rank, step and what differs
  std::vector<SearchPlan> front = {};
  std::vector<SearchNeighbour> neighbours = {};
  std::vector<SearchSensitivity> sensitivity = {};
  std::vector<std::string> left_out = {};
  std::vector<std::string> not_modelled = {};

  // Only where a plan was to be emitted.
  std::optional<std::string> emitted = {};
  std::vector<std::string> not_expressed = {};

  // Not part of the JSON.
  std::optional<std::string> repaired = {};         // the store was: a sentence
  std::shared_ptr<const SearchAnswer> answer = {};  // for the document

  /// The budget ended the search before all plans were decided.
  [[nodiscard]] bool IsPartial() const { return decided_share < 1; }
};

/// Searches on the threads of this process. A space in which no plan fits into memory is an answer,
/// not an error.
[[nodiscard]] ORRERY_API Result<SearchResult> Search(const Session& session,
                                                     const SearchRequest& request);

/// The same on all workers of a dealer; on processes other than the root the result is empty.
[[nodiscard]] Result<SearchResult> SearchWith(const Session& session, const SearchRequest& request,
                                              WorkDealer& dealer);

/// The answer for people; its data is the JSON.
[[nodiscard]] ORRERY_API report::Document MakeDocument(const SearchResult& result);

ORRERY_HAS_FIELDS(SearchRequest);
ORRERY_HAS_FIELDS(SearchPlan);
ORRERY_HAS_FIELDS(SearchNeighbour);
ORRERY_HAS_FIELDS(SearchSensitivity);
ORRERY_HAS_FIELDS(SearchResult);

}  // namespace orrery::api
