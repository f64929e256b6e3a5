#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orrery/api/fields/documents.h"
#include "orrery/api/search.h"
#include "orrery/base/document/value.h"
#include "orrery/base/error.h"
#include "orrery/search/pareto_front.h"
#include "orrery/search/reasons.h"
#include "orrery/search/search.h"
#include "orrery/search/space.h"
#include "orrery/search/store/plan_store.h"
#include "orrery/workload/emit/emit_job.h"

namespace orrery::api {

/// The result of a search, and everything that its document is made from.
struct SearchAnswer {
  search::Space space;
  std::vector<std::string> kernel_models = {};  // of --models
  search::Objective objective = search::Objective::kStep;
  search::SearchResult result = {};
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

/// The store that the request names, if any.
[[nodiscard]] Result<std::optional<search::PlanStore>> OpenStore(const SearchRequest& request,
                                                                 const search::Space& space);

/// The repairs of a store, as a sentence.
[[nodiscard]] std::string RepairNotice(const SearchRequest& request,
                                       const search::PlanStore& store);

/// "tp" of "plan.tp".
[[nodiscard]] std::string ShortKey(const std::string& key);

/// The dimensions in which some plans differ.
[[nodiscard]] std::vector<std::size_t> DifferingOf(const search::Space& space,
                                                   const std::vector<search::PlanId>& ids);

/// A kept plan, or one of the front, for programs.
[[nodiscard]] SearchPlan PlanResult(const SearchAnswer& answer, const search::RankedPlan& ranked);

/// The kept plans as a table: what they differ in, and what they have in common.
[[nodiscard]] Document::Table PlanTable(const SearchAnswer& answer);

/// The job that a plan is a change of.
[[nodiscard]] const workload::Job& BaseOf(const SearchAnswer& answer,
                                          const search::RankedPlan& ranked);

/// Tokens in a second; none of models without.
[[nodiscard]] std::optional<double> TokensOf(const SearchAnswer& answer,
                                             const search::RankedPlan& ranked);

/// The unit of dollars and joules: "token", or "sample" of a model without tokens.
[[nodiscard]] const char* ItemOf(const SearchAnswer& answer);

/// Adds the front of Pareto.
void AddFront(const SearchAnswer& answer, Document& document);

[[nodiscard]] Document SearchDocument(const SearchAnswer& answer);

[[nodiscard]] SearchResult MakeResult(std::shared_ptr<const SearchAnswer> answer);

}  // namespace orrery::api
