#include "orrery/analyze/graph/what_if.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/core.h>

#include "orrery/analyze/graph/dependency_graph.h"
#include "orrery/analyze/run_view.h"
#include "orrery/api/errors.h"
#include "orrery/api/view.h"
#include "orrery/api/view/requests.h"
#include "orrery/api/view/results.h"
#include "orrery/api/view/view_state.h"
#include "orrery/api/view/viewed_run.h"
#include "orrery/base/error.h"
#include "orrery/base/text/parse_number.h"
#include "orrery/draw/format.h"
#include "orrery/simulate/scenario.h"
#include "orrery/trace/speedup.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/job/job.h"

namespace orrery::api::view {
namespace {

constexpr double kMostSpeedup = 1000;
constexpr std::size_t kMostChanges = 16;
constexpr double kNanosecondsPerSecond = 1e9;

Status Check(const WhatIfRequest& request) {
  if (request.changes.size() > kMostChanges) {
    return Invalid("at most {} changes at once", kMostChanges);
  }
  for (const WhatIfChange& change : request.changes) {
    if (!(change.speedup >= 1 / kMostSpeedup && change.speedup <= kMostSpeedup)) {
      return Invalid("a speedup is between 0.001 and 1,000");
    }
  }
  return {};
}

// The speedup that "compute", "network", "host", "kernel" with a name, or "class" with one of a
// class is; none for other subjects.
Result<std::optional<trace::Speedup>> SpeedupOf(const WhatIfChange& change) {
  if (change.subject == "class") {
    constexpr auto kClasses = std::to_array<std::pair<std::string_view, trace::Part>>(
        {{"gemm", trace::Part::kGemm},
         {"attention", trace::Part::kAttention},
         {"compute", trace::Part::kOther},
         {"optimizer", trace::Part::kOptimizer}});
    const auto* const found =
        std::ranges::find(kClasses, change.name, &std::pair<std::string_view, trace::Part>::first);
    if (found == kClasses.end()) {
      return Invalid("'{}' is no class of kernels: gemm, attention, compute, optimizer",
                     change.name);
    }
    return trace::Speedup{.part = found->second, .factor = change.speedup};
  }
  constexpr auto kSubjects =
      std::to_array<std::pair<std::string_view, trace::Part>>({{"compute", trace::Part::kCompute},
                                                               {"network", trace::Part::kNetwork},
                                                               {"kernel", trace::Part::kKernel},
                                                               {"host", trace::Part::kHost}});
  const auto* const found = std::ranges::find(kSubjects, change.subject,
                                              &std::pair<std::string_view, trace::Part>::first);
  return found == kSubjects.end()
             ? std::optional<trace::Speedup>()
             : trace::Speedup{.part = found->second, .factor = change.speedup, .name = change.name};
}

Status Apply(const WhatIfChange& change, const ViewedRun& run, std::int64_t latency_ns,
             analyze::WhatIf& what_if) {
  ORRERY_TRY(const std::optional<trace::Speedup> speedup, SpeedupOf(change));
  if (speedup) {
    what_if.Apply(*speedup, latency_ns);
  } else if (change.subject == "stragglers") {
    what_if.RemoveStragglers();
  } else if (change.subject == "rank") {
    const std::optional<std::int64_t> rank = ParseWhole<std::int64_t>(change.name);
    if (!rank || *rank < 0 || *rank >= static_cast<std::int64_t>(run.ranks().size())) {
      return Invalid("'{}' is no rank", change.name);
    }
    what_if.RemoveLateness(run.ranks()[static_cast<std::size_t>(*rank)].rank);
  } else {
    return Invalid(
        "a recorded step has no '{}': compute, class, network, host, kernel, rank, stragglers",
        change.subject);
  }
  return {};
}

WhatIfAnswer AnswerOf(std::int64_t before_ns, std::int64_t after_ns, std::string method) {
  const double change = before_ns == 0 ? 0
                                       : static_cast<double>(after_ns - before_ns) * 100 /
                                             static_cast<double>(before_ns);
  return {.before_ns = before_ns,
          .after_ns = after_ns,
          .sentences = {fmt::format("The step time is {} instead of {} ({:+.1f} %).",
                                    draw::FormatDuration({after_ns}),
                                    draw::FormatDuration({before_ns}), change),
                        std::move(method)}};
}

Result<WhatIfAnswer> Replay(const ViewedRun& run, const WhatIfRequest& request) {
  const analyze::DependencyGraph& graph = analyze::GraphOf(run.view());
  if (graph.empty()) {
    return NotFound("there is no step that all ranks have");
  }
  analyze::WhatIf what_if(run.view(), graph);
  const std::int64_t latency_ns = analyze::KeptLatencyNs(run.view());
  for (const WhatIfChange& change : request.changes) {
    ORRERY_TRY_STATUS(Apply(change, run, latency_ns, what_if));
  }
  const auto step_ns = [&](std::int64_t path_ns) {
    return std::llround(kNanosecondsPerSecond *
                        analyze::ReplayedSeconds(run.view(), graph, path_ns));
  };
  return AnswerOf(step_ns(graph.path_ns()), step_ns(what_if.PathNs()),
                  "By a replay of the recorded step: the order on every stream stays, kernels do "
                  "not slow each other down more or less.");
}

// The number of GPUs that is nearest and has whole replicas, with as many replicas, whether or not
// the job names their number.
std::vector<std::string> ScaledGpus(const workload::Job& job, double factor) {
  const std::int64_t of_replica = std::max<std::int64_t>(job.gpus / std::max(job.plan.dp, 1), 1);
  const std::int64_t replicas = std::max<std::int64_t>(
      std::llround(static_cast<double>(job.gpus) * factor / static_cast<double>(of_replica)), 1);
  return {fmt::format("gpus={}", of_replica * replicas), fmt::format("plan.dp={}", replicas)};
}

Status Add(const WhatIfChange& change, const workload::Job& job, JobChanges& changes) {
  ORRERY_TRY(const std::optional<trace::Speedup> speedup, SpeedupOf(change));
  if (speedup && simulate::IsOfSimulatedStep(speedup->part)) {
    changes.scenario.speedups.push_back(*speedup);
  } else if (change.subject == "rank") {
    const std::optional<std::int64_t> rank = ParseWhole<std::int64_t>(change.name);
    if (!rank || *rank < 0) {
      return Invalid("'{}' is no rank", change.name);
    }
    changes.scenario.slow_ranks.push_back({static_cast<workload::Rank>(*rank), 1 / change.speedup});
  } else if (change.subject == "gpus" && change.name.empty()) {
    std::ranges::move(ScaledGpus(job, change.speedup), std::back_inserter(changes.settings));
  } else if (change.subject == "gpus" || change.subject.starts_with("plan.") ||
             change.subject.starts_with("training.")) {
    changes.settings.push_back(fmt::format("{}={}", change.subject, change.name));
  } else {
    return Invalid(
        "a simulated job has no '{}': compute, class, network, rank, gpus, plan.*, training.*",
        change.subject);
  }
  return {};
}

Result<JobChanges> ChangesOf(const WhatIfRequest& request, const workload::Job& job) {
  JobChanges changes;
  for (const WhatIfChange& change : request.changes) {
    ORRERY_TRY_STATUS(Add(change, job, changes));
  }
  return changes;
}

std::string PredictionSentence(std::optional<double> recorded_ns,
                               std::optional<double> predicted_ns) {
  if (!recorded_ns || !predicted_ns) {
    return "The prediction is the second run.";
  }
  return fmt::format(
      "The predicted step takes {}, the recorded one {} ({:+.0f} %). The host is that of a model "
      "without a profiler: where the host limits the step, a recording is slower.",
      draw::FormatDuration({std::llround(*predicted_ns)}),
      draw::FormatDuration({std::llround(*recorded_ns)}), (*predicted_ns / *recorded_ns - 1) * 100);
}

}  // namespace

Result<WhatIfAnswer> AnswerWhatIf(const View& view, const WhatIfRequest& request) {
  ORRERY_TRY_STATUS(Check(request));
  ViewState& state = view.state();
  ORRERY_TRY(const std::shared_ptr<const ViewedRun> run, state.RunAt(request.run));
  if (run->simulated() == nullptr || state.makers.simulate == nullptr) {
    return Replay(*run, request);
  }
  ORRERY_TRY(const JobChanges changes, ChangesOf(request, *run->simulated()->job));
  ORRERY_TRY(std::shared_ptr<ViewedRun> simulated, state.makers.simulate(*run, changes));
  WhatIfAnswer answer = AnswerOf(run->simulated()->StepNs(), simulated->simulated()->StepNs(),
                                 "The job was simulated again.");
  if (request.keep) {
    answer.run = state.KeepMade(std::move(simulated));
  }
  return answer;
}

Result<Prediction> PredictRun(const View& view, const RunRequest& request) {
  ViewState& state = view.state();
  ORRERY_TRY(const std::shared_ptr<const ViewedRun> run, state.RunAt(request.run));
  if (state.makers.predict == nullptr || run->simulated() != nullptr) {
    return NotFound("this run cannot be predicted");
  }
  ORRERY_TRY(std::shared_ptr<ViewedRun> predicted, state.makers.predict(*run));
  const std::optional<double> step_ns = predicted->StepNs();
  return Prediction{.step_ns = step_ns,
                    .run = state.KeepMade(std::move(predicted)),
                    .sentences = {PredictionSentence(run->StepNs(), step_ns)}};
}

Result<OpenedPlan> OpenPlan(const View& view, const PlanRequest& request) {
  ViewState& state = view.state();
  if (state.makers.simulate_plan == nullptr || request.plan < 0) {
    return NotFound("there is no such plan");
  }
  ORRERY_TRY(std::shared_ptr<ViewedRun> run,
             state.makers.simulate_plan(static_cast<std::size_t>(request.plan)));
  OpenedPlan plan{.name = run->name(), .step_ns = run->simulated()->StepNs()};
  plan.run = state.KeepMade(std::move(run));
  return plan;
}

}  // namespace orrery::api::view
