#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/value.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/output.h"
#include "orrery/search/pareto_front.h"
#include "orrery/search/plan_store.h"
#include "orrery/search/reasons.h"
#include "orrery/search/search.h"
#include "orrery/search/space.h"
#include "orrery/workload/emit/emit_job.h"

namespace orrery::cli {

/// The options of `orrery search`.
struct SearchArguments {
  std::string path;
  JobArguments job;
  std::string gpus;
  search::Objective objective = search::Objective::kStep;
  int keep = 20;
  std::string budget;
  std::string price;
  std::string store;
  bool resumes = false;
  bool computes_anyway = false;
  bool repairs = false;
  std::optional<workload::LaunchFormat> emitted;
  int chosen = 1;  // of the kept plans: which to emit
  bool skips_reasons = false;
  int threads = 0;
  double memory_reserve = -1;  // percent; below 0: what the job says
  OutputOptions output;
};

/// The store that the options name, if any.
[[nodiscard]] Result<std::optional<search::PlanStore>> OpenStore(const SearchArguments& arguments,
                                                                 const search::Space& space);

/// The result of a search.
struct SearchAnswer {
  const search::Space* space = nullptr;
  std::vector<std::string> kernel_models = {};  // of --models
  search::Objective objective = search::Objective::kStep;
  search::SearchResult result;
  search::Reasons reasons = {};
  std::vector<bool> ties = {};                       // with the first, by kept plan
  std::vector<search::PlanTradeoff> tradeoffs = {};  // of simulated plans that fit
  std::vector<search::PlanTradeoff> front = {};      // of those
  double seconds = 0;
  std::vector<std::string> left_out = {};      // of the job, a sentence each
  std::vector<std::string> not_modelled = {};  // of the first plan
  std::optional<workload::EmittedJob> emitted = {};
  int emitted_plan = 1;
  bool is_drawn = false;                          // there is a page
  std::vector<Document::Picture> timelines = {};  // of the first and the second plan, for it
};

/// "tp" of "plan.tp".
[[nodiscard]] std::string ShortKey(const std::string& key);

/// The dimensions in which some plans differ.
[[nodiscard]] std::vector<std::size_t> DifferingOf(const search::Space& space,
                                                   const std::vector<search::PlanId>& ids);

/// A kept plan, or one of the front, for programs.
[[nodiscard]] Value PlanFigures(const SearchAnswer& answer, const search::RankedPlan& ranked);

/// The unit of dollars and joules: "token", or "sample" of a model without tokens.
[[nodiscard]] const char* ItemOf(const SearchAnswer& answer);

/// Adds the front of Pareto.
void AddFront(const SearchAnswer& answer, Document& document);

[[nodiscard]] Document SearchDocument(const SearchAnswer& answer);

}  // namespace orrery::cli
