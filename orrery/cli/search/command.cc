#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "orrery/api/session_state.h"
#include "orrery/base/duration_text.h"
#include "orrery/base/error.h"
#include "orrery/base/progress.h"
#include "orrery/base/work_dealer.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/output.h"
#include "orrery/cli/search/pictures.h"
#include "orrery/cli/search/search.h"
#include "orrery/cli/verb.h"
#include "orrery/distribute/deal.h"
#include "orrery/kernel/estimate.h"
#include "orrery/kernel/model_set.h"
#include "orrery/overlap/concurrent_kernels.h"
#include "orrery/search/dimensions.h"
#include "orrery/search/pareto_front.h"
#include "orrery/search/plan_evaluation.h"
#include "orrery/search/plan_store.h"
#include "orrery/search/progress_estimate.h"
#include "orrery/search/reasons.h"
#include "orrery/search/search.h"
#include "orrery/search/space.h"
#include "orrery/simulate/explain/memory_timeline.h"
#include "orrery/simulate/simulation.h"
#include "orrery/workload/emit/emit_job.h"
#include "orrery/workload/generate/generate.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/job_file.h"

namespace orrery::cli {
namespace {

constexpr const char* kFooter =
    "JOB.yaml says model, training and machine. Its section `search` says which keys are free and\n"
    "within which values (docs/formats/search.md):\n"
    "  search: {plan.tp: [1, 2, 4, 8], plan.pp: divisors, training.micro_batch: powers_of_two,\n"
    "           memory_share: 0.92, must: [tp within node]}\n"
    "Without one, the plan of a transformer is free; --set fixes a key.\n\n"
    "The result is that of simulating every plan: a plan is left out only if it does not fit into\n"
    "memory or if a lower bound of its step is above that of all that are kept.\n\n"
    "Examples:\n"
    "  orrery search examples/llama3-70b-512-h100.yaml\n"
    "  orrery search job.yaml --gpus 64..1024 --objective tokens_per_gpu\n"
    "  orrery search job.yaml --set plan.cp=1 --budget 60s --json\n"
    "  orrery search job.yaml --gpus 64..256 --price H100=2.5 --html plans.html\n"
    "  orrery search job.yaml --store plans.orrdb --resume\n"
    "  orrery search job.yaml --emit megatron --plan 2";

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
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

Result<search::Space> SpaceOf(const SearchArguments& arguments) {
  search::SpaceRequest request;
  ORRERY_TRY(request.text, workload::ReadJobText(arguments.path));
  if (!arguments.job.gpu.empty()) {
    request.overrides.push_back("gpu=" + arguments.job.gpu);
  }
  request.overrides.insert(request.overrides.end(), arguments.job.settings.begin(),
                           arguments.job.settings.end());
  request.clusters = SplitAtCommas(arguments.job.cluster);
  if (!arguments.gpus.empty()) {
    ORRERY_TRY(request.gpus, search::GpuCounts(arguments.gpus));
  }
  if (arguments.memory_reserve >= 0) {
    request.memory_reserve = arguments.memory_reserve / 100;
  }
  return search::Space::Of(request);
}

// Of the GPUs of the space.
Result<search::Prices> PricesOf(const SearchArguments& arguments, const search::Space& space) {
  search::Prices prices;
  if (arguments.price.empty()) {
    return arguments.objective == search::Objective::kDollars
               ? Result<search::Prices>(
                     InvalidInput("--objective dollars needs --price, such as {}=2.5",
                                  space.bases().front().job.gpu.name))
               : prices;
  }
  ORRERY_TRY(const PriceList list, ReadPrices(arguments.price));
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
  if (result.considered == 0 && result.settled_share >= 1) {
    return InvalidInput("{}: the space has no plan: {}", space.place(), result.first_refusal);
  }
  if (result.best.empty() && result.failed > 0) {
    return InvalidInput("{}: no plan could be simulated: {}", space.place(), result.first_failure);
  }
  return {};
}

Status AddEmitted(const SearchArguments& arguments, SearchAnswer& answer) {
  if (!arguments.emitted) {
    return {};
  }
  const auto chosen = static_cast<std::size_t>(arguments.chosen);
  if (chosen > answer.result.best.size()) {
    return InvalidInput("--plan {}: {} plans were kept", arguments.chosen,
                        answer.result.best.size());
  }
  ORRERY_TRY(const workload::Job job,
             answer.space->JobOf(answer.result.best[chosen - 1].screened.id));
  ORRERY_TRY(answer.emitted, workload::EmitJob(job, *arguments.emitted));
  answer.emitted_plan = arguments.chosen;
  return {};
}

Result<int> Run(const SearchArguments& arguments, WorkDealer& dealer) {
  const Clock::time_point begin = Clock::now();
  ORRERY_TRY(const search::Space space, SpaceOf(arguments));
  search::SearchOptions options;
  options.objective = arguments.objective;
  options.keep = static_cast<std::size_t>(arguments.keep);
  ORRERY_TRY(options.prices, PricesOf(arguments, space));
  std::optional<double> budget_s;
  if (!arguments.budget.empty()) {
    ORRERY_TRY(budget_s, ParseSeconds(arguments.budget));
    constexpr double kScreening = 0.5;  // of the time; the rest is for simulating plans
    options.is_over = [&] { return SecondsSince(begin) > *budget_s; };
    options.ends_screening = [&] { return SecondsSince(begin) > kScreening * *budget_s; };
  }
  api::SessionState& session = ProgramSession().state();
  ORRERY_TRY(const std::shared_ptr<const kernel::CostModel> costs,
             session.Costs(arguments.job.kernel_models));
  ORRERY_TRY(const simulate::SimulationOptions engine, api::DefaultOptions(session));
  search::PlanEvaluation evaluation(space, *costs, engine);
  if (!dealer.is_root()) {
    ORRERY_TRY_STATUS(dealer.Serve(evaluation.work()));
    return kExitOk;
  }
  ORRERY_TRY(std::optional<search::PlanStore> store, OpenStore(arguments, space));
  options.store = store ? &*store : nullptr;
  ProgressLine line(TerminalProgress(), "searching");
  search::ProgressEstimate estimate(options.keep);
  options.progress = [&](const search::SearchProgress& progress) {
    line.Update(0, 0, search::ProgressText(estimate.Update(progress, SecondsSince(begin))));
  };
  SearchAnswer answer;
  answer.space = &space;
  answer.kernel_models = arguments.job.kernel_models;
  answer.objective = options.objective;
  ORRERY_TRY(answer.result, search::Search(evaluation, dealer, options));
  if (const auto refusal = MemoryRefusal(space, answer.result)) {
    line.Clear();
    PrintNotice(*refusal);
    return kExitOutOfMemory;
  }
  ORRERY_TRY_STATUS(CheckResult(space, answer.result));
  if (!answer.result.best.empty()) {
    const search::RankedPlan& best = answer.result.best.front();
    if (!arguments.skips_reasons) {
      ORRERY_TRY(answer.reasons, search::ReasonsFor(best, evaluation, dealer, options));
    }
    ORRERY_TRY(const workload::Job job, space.JobOf(best.screened.id));
    answer.tradeoffs = search::TradeoffsOf(answer.result, space, options.prices);
    answer.front = search::ParetoFront(answer.tradeoffs);
    for (const search::RankedPlan& ranked : answer.result.best) {
      answer.ties.push_back(search::IsTie(best.played, ranked.played, job));
    }
    answer.left_out = space.bases()[best.screened.base].not_modelled;
    ORRERY_TRY(const workload::GeneratedJob generated, workload::Generate(job, *costs));
    answer.not_modelled = simulate::NotModelled(job, generated, engine);
    answer.is_drawn = !arguments.output.html_file.empty();
    if (answer.is_drawn) {
      ORRERY_TRY(answer.timelines, TimelinePictures(answer, *costs, engine));
    }
  }
  ORRERY_TRY_STATUS(AddEmitted(arguments, answer));
  line.Clear();
  answer.seconds = SecondsSince(begin);
  return Deliver(SearchDocument(answer), arguments.output, answer.result.settled_share < 1);
}

}  // namespace

void AddSearchCommand(Verb& program) {
  const auto arguments = std::make_shared<SearchArguments>();
  Verb verb = program.AddVerb("search", "The best plan for a training job, of all that fit");
  verb.Footer(kFooter);
  verb.AddOption("JOB", arguments->path, "a job; its section `search` says what is free")
      .Required();
  AddJobOptions(verb, arguments->job);
  verb.AddOption("--gpus RANGE", arguments->gpus,
                 "numbers of GPUs: 512, a list 64,96, or a range 64..1024, which doubles");
  verb.AddChoice("--objective", arguments->objective,
                 {{"step", search::Objective::kStep},
                  {"tokens_per_gpu", search::Objective::kTokensPerGpu},
                  {"dollars", search::Objective::kDollars},
                  {"energy", search::Objective::kEnergy}},
                 "the objective: the shortest step, most tokens per GPU, fewest dollars or joules "
                 "per token (default: step)");
  verb.AddOption("--memory-reserve PERCENT", arguments->memory_reserve,
                 "of a GPU's usable memory that plans leave free (default: 5, or what memory_share "
                 "of the job leaves)")
      .Range(0.0, 99.0);
  verb.AddOption("--keep", arguments->keep, "how many of the best plans to keep (20)")
      .Range(1, 10'000);
  verb.AddOption("--budget TIME", arguments->budget,
                 "stop after this time, 60s, and say what is not decided");
  verb.AddOption("--store FILE", arguments->store,
                 "keep decided plans in this file: nothing is lost when the search is ended");
  verb.AddFlag("--resume", arguments->resumes, "go on with the search that is in the store");
  verb.AddFlag("--anyway", arguments->computes_anyway,
               "remove plans of another program, of other models or of another job from the store");
  verb.AddFlag("--repair", arguments->repairs,
               "go on with a damaged store: its sound records are kept, the others dropped");
  verb.AddOption("--price DOLLARS", arguments->price, "of a GPU hour: H100=2.5,A100-80GB=1.1");
  verb.AddChoice("--emit", arguments->emitted,
                 {{"megatron", std::optional(workload::LaunchFormat::kMegatron)},
                  {"nemo", std::optional(workload::LaunchFormat::kNemo)},
                  {"torchtitan", std::optional(workload::LaunchFormat::kTorchtitan)},
                  {"deepspeed", std::optional(workload::LaunchFormat::kDeepSpeed)}},
                 "write a plan as flags or file of a training tool (docs/formats/launch.md)");
  verb.AddOption("--plan", arguments->chosen, "which of the kept plans to write (1)")
      .Range(1, 10'000);
  verb.AddFlag("--no-reasons", arguments->skips_reasons,
               "do not simulate the neighbours of the best plan and better hardware");
  verb.AddOption("--threads", arguments->threads,
                 "threads of each process (default: one for each core)")
      .Range(0, 1024);
  AddKernelModelsOption(verb, arguments->job);
  AddOutputOptions(verb, arguments->output);
  AddCsvOptions(verb, arguments->output);
  verb.OnRun([arguments] {
    return distribute::WithDealer(arguments->threads,
                                  [&](WorkDealer& dealer) { return Run(*arguments, dealer); });
  });
}

}  // namespace orrery::cli
