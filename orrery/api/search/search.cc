#include "orrery/api/search.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/api/cancellation.h"
#include "orrery/api/errors.h"
#include "orrery/api/input/job_source.h"
#include "orrery/api/input/price_list.h"
#include "orrery/api/search/answer.h"
#include "orrery/api/search/pictures.h"
#include "orrery/api/session_state.h"
#include "orrery/base/concurrency/work_dealer.h"
#include "orrery/base/error.h"
#include "orrery/base/text/duration_text.h"
#include "orrery/kernel/estimate.h"
#include "orrery/search/dimensions.h"
#include "orrery/search/pareto_front.h"
#include "orrery/search/plan_evaluation.h"
#include "orrery/search/progress_estimate.h"
#include "orrery/search/reasons.h"
#include "orrery/search/search.h"
#include "orrery/search/space.h"
#include "orrery/search/store/plan_store.h"
#include "orrery/simulate/explain/memory_timeline.h"
#include "orrery/simulate/simulation.h"
#include "orrery/workload/emit/emit_job.h"
#include "orrery/workload/generate/generate.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/job_file.h"

namespace orrery::api {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

template <typename T, std::size_t kSize>
using NamesOfValues = std::array<std::pair<std::string_view, T>, kSize>;

constexpr NamesOfValues<search::Objective, 4> kObjectives = {
    {{"step", search::Objective::kStep},
     {"tokens_per_gpu", search::Objective::kTokensPerGpu},
     {"dollars", search::Objective::kDollars},
     {"energy", search::Objective::kEnergy}}};

constexpr NamesOfValues<workload::LaunchFormat, 4> kLaunchFormats = {
    {{"megatron", workload::LaunchFormat::kMegatron},
     {"nemo", workload::LaunchFormat::kNemo},
     {"torchtitan", workload::LaunchFormat::kTorchtitan},
     {"deepspeed", workload::LaunchFormat::kDeepSpeed}}};

template <typename T, std::size_t kSize>
Result<T> ValueNamed(std::string_view option, const std::string& name,
                     const NamesOfValues<T, kSize>& values) {
  std::string known;
  for (const auto& [its_name, value] : values) {
    if (its_name == name) {
      return value;
    }
    known += fmt::format("{}{}", known.empty() ? "" : ", ", its_name);
  }
  return InvalidInput("{} {}: write one of {}", option, name, known);
}

std::vector<std::string> SplitAtCommas(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (!text.empty() && begin <= text.size()) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return parts;
}

Result<search::Space> SpaceOf(const SearchRequest& request) {
  search::SpaceRequest space;
  ORRERY_TRY(space.text, ReadJobText(request.job, request.job_yaml));
  if (!request.changes.gpu.empty()) {
    space.overrides.push_back("gpu=" + request.changes.gpu);
  }
  space.overrides.insert(space.overrides.end(), request.changes.settings.begin(),
                         request.changes.settings.end());
  space.clusters = SplitAtCommas(request.changes.cluster);
  if (!request.gpus.empty()) {
    ORRERY_TRY(space.gpus, search::GpuCounts(request.gpus));
  }
  if (request.memory_reserve) {
    space.memory_reserve = *request.memory_reserve / 100;
  }
  return search::Space::Of(space);
}

// Of the GPUs of the space.
Result<search::Prices> PricesOf(const SearchRequest& request, search::Objective objective,
                                const search::Space& space) {
  search::Prices prices;
  if (request.price.empty()) {
    return objective == search::Objective::kDollars
               ? Result<search::Prices>(
                     InvalidInput("--objective dollars needs --price, such as {}=2.5",
                                  space.bases().front().job.gpu.name))
               : prices;
  }
  ORRERY_TRY(const PriceList list, ReadPrices(request.price));
  for (const workload::JobFile& base : space.bases()) {
    ORRERY_TRY(prices[base.job.gpu.name], PriceOfGpu(list, base.job.gpu.name));
  }
  return prices;
}

std::string PlanText(const search::Space& space, search::PlanId id) {
  const Result<workload::Job> job = space.JobOf(id);
  return job ? fmt::format("tp {} pp {} cp {} dp {} with micro-batches of {}", job->plan.tp,
                           job->plan.pp, job->plan.cp, job->plan.dp, job->training.micro_batch)
             : "";
}

// Says that no plan fits, where that is why there is nothing to show.
std::optional<std::string> MemoryRefusal(const search::Space& space,
                                         const search::SearchResult& result) {
  constexpr double kGibibyte = 1 << 30;
  const bool is_memory = result.pruned_by_memory + result.too_large == result.considered;
  if (!result.best.empty() || !is_memory || result.considered == 0 || result.failed > 0) {
    return std::nullopt;
  }
  const workload::Job& base = space.bases()[result.smallest.base].job;
  const double usable = static_cast<double>(simulate::UsableBytes(base.gpu)) / kGibibyte;
  const double reserve = 1 - space.memory_share();
  return fmt::format(
      "{}: no plan fits: the least memory over all plans is {:.1f} GiB at {}; {:.1f} are there{}",
      space.place(), static_cast<double>(result.smallest.memory_bytes) / kGibibyte,
      PlanText(space, result.smallest.id), usable * space.memory_share(),
      reserve > 0 ? fmt::format(" ({:.1f} less {:.3g} % of reserve; --memory-reserve changes it)",
                                usable, 100 * reserve)
                  : "");
}

// Why else there is nothing to show.
Status CheckResult(const search::Space& space, const search::SearchResult& result) {
  if (result.considered == 0 && result.decided_share >= 1) {
    return InvalidInput("{}: the space has no plan: {}", space.place(), result.first_refusal);
  }
  if (result.best.empty() && result.failed > 0) {
    return InvalidInput("{}: no plan could be simulated: {}", space.place(), result.first_failure);
  }
  return {};
}

Status AddEmitted(const SearchRequest& request, SearchAnswer& answer) {
  if (request.emit.empty()) {
    return {};
  }
  ORRERY_TRY(const workload::LaunchFormat format,
             ValueNamed("--emit", request.emit, kLaunchFormats));
  const auto chosen = static_cast<std::size_t>(request.plan);
  if (chosen == 0 || chosen > answer.result.best.size()) {
    return InvalidInput("--plan {}: {} plans were kept", request.plan, answer.result.best.size());
  }
  ORRERY_TRY(const workload::Job job,
             answer.space.JobOf(answer.result.best[chosen - 1].bounded.id));
  ORRERY_TRY(answer.emitted, workload::EmitJob(job, format));
  answer.emitted_plan = request.plan;
  return {};
}

// Half of the time is for bounds, the rest for simulating plans.
Status SetBudget(const std::string& budget, Clock::time_point begin,
                 search::SearchOptions& options) {
  if (budget.empty()) {
    return {};
  }
  ORRERY_TRY(const double budget_s, ParseSeconds(budget));
  options.is_over = [=] { return SecondsSince(begin) > budget_s; };
  options.ends_bounding = [=] { return SecondsSince(begin) > 0.5 * budget_s; };
  return {};
}

// Reasons, front and ties of the best plan.
Status Explain(const SearchRequest& request, const search::SearchOptions& options,
               const kernel::CostModel& costs, const simulate::SimulationOptions& engine,
               search::PlanEvaluation& evaluation, WorkDealer& dealer, SearchAnswer& answer) {
  const search::RankedPlan& best = answer.result.best.front();
  if (!request.no_reasons) {
    ORRERY_TRY(answer.reasons, search::ReasonsFor(best, evaluation, dealer, options));
  }
  ORRERY_TRY(const workload::Job job, answer.space.JobOf(best.bounded.id));
  answer.tradeoffs = search::TradeoffsOf(answer.result, answer.space, options.prices);
  answer.front = search::ParetoFront(answer.tradeoffs);
  for (const search::RankedPlan& ranked : answer.result.best) {
    answer.ties.push_back(search::IsTie(best.simulated, ranked.simulated, job));
  }
  answer.left_out = answer.space.bases()[best.bounded.base].not_modelled;
  ORRERY_TRY(const workload::GeneratedJob generated, workload::Generate(job, costs));
  answer.not_modelled = simulate::NotModelled(job, generated, engine);
  answer.is_drawn = request.needs_pictures;
  if (answer.is_drawn) {
    ORRERY_TRY(answer.timelines, TimelinePictures(answer, costs, engine));
  }
  return {};
}

Result<SearchResult> RunRequest(const Session& session, const SearchRequest& request,
                                WorkDealer& dealer) {
  const Clock::time_point begin = Clock::now();
  search::SearchOptions options;
  ORRERY_TRY(options.objective, ValueNamed("--objective", request.objective, kObjectives));
  options.keep = static_cast<std::size_t>(std::max(1, request.keep));
  ORRERY_TRY(search::Space space, SpaceOf(request));
  const auto answer = std::make_shared<SearchAnswer>(
      SearchAnswer{.space = std::move(space), .kernel_models = request.changes.kernel_models});
  answer->objective = options.objective;
  ORRERY_TRY(options.prices, PricesOf(request, options.objective, answer->space));
  ORRERY_TRY_STATUS(SetBudget(request.budget, begin, options));
  ORRERY_TRY(const std::shared_ptr<const kernel::CostModel> costs,
             session.state().Costs(request.changes.kernel_models));
  ORRERY_TRY(const simulate::SimulationOptions engine, DefaultOptions(session.state()));
  search::PlanEvaluation evaluation(answer->space, *costs, engine);
  if (!dealer.is_root()) {
    ORRERY_TRY_STATUS(dealer.Serve(evaluation.work()));
    return SearchResult();
  }
  ORRERY_TRY(std::optional<search::PlanStore> store, OpenStore(request, answer->space));
  options.store = store ? &*store : nullptr;
  search::ProgressEstimate estimate(options.keep);
  options.progress = [&](const search::SearchProgress& progress) {
    request.call.Report(search::ProgressText(estimate.Update(progress, SecondsSince(begin))));
  };
  ORRERY_TRY(answer->result, search::Search(evaluation, dealer, options));
  std::optional<std::string> refusal = MemoryRefusal(answer->space, answer->result);
  if (!refusal) {
    ORRERY_TRY_STATUS(CheckResult(answer->space, answer->result));
    if (!answer->result.best.empty()) {
      ORRERY_TRY_STATUS(Explain(request, options, *costs, engine, evaluation, dealer, *answer));
    }
    ORRERY_TRY_STATUS(AddEmitted(request, *answer));
  }
  answer->seconds = SecondsSince(begin);
  SearchResult result = MakeResult(answer);
  result.out_of_memory = std::move(refusal);
  if (request.repair) {
    result.repaired = RepairNotice(request, *store);
  }
  return result;
}

}  // namespace

Result<SearchResult> Search(const Session& session, const SearchRequest& request) {
  ThreadDealer dealer(request.threads);
  return SearchWith(session, request, dealer);
}

Result<SearchResult> SearchWith(const Session& session, const SearchRequest& request,
                                WorkDealer& dealer) {
  return RunCancellable(request.call, [&] { return RunRequest(session, request, dealer); });
}

report::Document MakeDocument(const SearchResult& result) {
  report::Document document = SearchDocument(*result.answer);
  if (result.out_of_memory) {
    document.AddSection().Say(*result.out_of_memory, Document::Text::Style::kAlarm);
  }
  document.data = ToObject(result);
  return document;
}

}  // namespace orrery::api
