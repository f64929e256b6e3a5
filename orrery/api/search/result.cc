#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/api/fields/documents.h"
#include "orrery/api/search.h"
#include "orrery/api/search/answer.h"
#include "orrery/base/document/value.h"
#include "orrery/base/error.h"
#include "orrery/base/text/parse_number.h"
#include "orrery/search/pareto_front.h"
#include "orrery/search/plan_results.h"
#include "orrery/search/reasons.h"
#include "orrery/search/search.h"
#include "orrery/search/space.h"
#include "orrery/workload/job/job.h"

namespace orrery::api {
namespace {

using search::RankedPlan;

double Seconds(std::int64_t ps) {
  return static_cast<double>(ps) / 1e12;
}

Value ValueOf(const std::string& text) {
  if (const auto number = ParseWhole<std::int64_t>(text)) {
    return *number;
  }
  if (const auto number = ParseWhole<double>(text)) {
    return *number;
  }
  return text == "true" ? Value(true) : text == "false" ? Value(false) : Value(text);
}

Value KeysOf(const search::Space& space, search::PlanId id) {
  Value plan = Value::Object();
  const std::vector<std::string> values = space.ValuesOf(id);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!values[i].empty()) {
      plan.Set(ShortKey(space.dimensions()[i].key), ValueOf(values[i]));
    }
  }
  if (const Result<workload::Job> job = space.JobOf(id)) {
    plan.Set("dp", job->plan.dp);
  }
  return plan;
}

SearchPlan FrontPlan(const SearchAnswer& answer, const search::PlanTradeoff& tradeoff) {
  SearchPlan plan = PlanResult(answer, answer.result.simulated[tradeoff.simulated]);
  plan.memory_left_bytes = tradeoff.memory_left_bytes;
  plan.dollars_per_token = tradeoff.dollars_per_token;
  plan.joules_per_token = tradeoff.joules_per_token;
  return plan;
}

void SetCounts(const search::SearchResult& found, SearchResult& result) {
  result.considered = static_cast<std::int64_t>(found.considered);
  result.pruned_by_memory = static_cast<std::int64_t>(found.pruned_by_memory);
  result.pruned_by_bound = static_cast<std::int64_t>(found.pruned_by_bound);
  result.simulated = static_cast<std::int64_t>(found.simulated.size());
  result.too_large = static_cast<std::int64_t>(found.too_large);
  result.failed = static_cast<std::int64_t>(found.failed);
  result.refused = static_cast<std::int64_t>(found.refused);
  result.decided_share = found.decided_share;
  result.bounded_share = found.bounded_share;
}

void SetBest(const SearchAnswer& answer, SearchResult& result) {
  for (const RankedPlan& ranked : answer.result.best) {
    result.best.push_back(PlanResult(answer, ranked));
  }
  if (result.best.empty()) {
    return;
  }
  result.plans = RowsOf(PlanTable(answer));
  for (const search::PlanTradeoff& tradeoff : answer.front) {
    result.front.push_back(FrontPlan(answer, tradeoff));
  }
  for (const search::Neighbour& neighbour : answer.reasons.neighbours) {
    result.neighbours.push_back({.key = neighbour.key,
                                 .from = ValueOf(neighbour.from),
                                 .to = ValueOf(neighbour.to),
                                 .change = neighbour.change,
                                 .fits = neighbour.fits,
                                 .reason = neighbour.reason});
  }
  for (const search::Sensitivity& better : answer.reasons.sensitivities) {
    result.sensitivity.push_back(
        {.resource = search::NameOf(better.resource), .change = better.change});
  }
}

}  // namespace

SearchPlan PlanResult(const SearchAnswer& answer, const RankedPlan& ranked) {
  const search::SimulatedPlan& simulated = ranked.simulated;
  const workload::Job& base = BaseOf(answer, ranked);
  return {.plan = KeysOf(answer.space, ranked.bounded.id),
          .step_s = Seconds(simulated.step_ps),
          .low_s = Seconds(simulated.low_ps),
          .high_s = Seconds(simulated.high_ps),
          .tokens_per_s = TokensOf(answer, ranked),
          .samples_per_s = simulated.samples_per_s,
          .memory_bytes = simulated.memory_bytes,
          .memory_usable_bytes = simulated.usable_bytes,
          .mfu = simulated.mfu,
          .gpus = base.gpus,
          .cluster = base.cluster.name,
          .joules = simulated.joules,
          .objective = ranked.objective,
          .bound_s = Seconds(ranked.bounded.bound_ps),
          .settings = answer.space.SettingsOf(ranked.bounded.id)};
}

SearchResult MakeResult(std::shared_ptr<const SearchAnswer> answer) {
  SearchResult result;
  SetCounts(answer->result, result);
  result.seconds = answer->seconds;
  SetBest(*answer, result);
  result.left_out = answer->left_out;
  result.not_modelled = answer->not_modelled;
  if (answer->emitted) {
    result.emitted = answer->emitted->text;
    result.not_expressed = answer->emitted->not_expressed;
  }
  result.answer = std::move(answer);
  return result;
}

}  // namespace orrery::api
