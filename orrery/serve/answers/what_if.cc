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
#include "orrery/base/document/json_value.h"
#include "orrery/base/document/value.h"
#include "orrery/base/error.h"
#include "orrery/draw/format.h"
#include "orrery/serve/answers/answers.h"
#include "orrery/serve/http/request.h"
#include "orrery/serve/viewed_run.h"
#include "orrery/simulate/scenario.h"
#include "orrery/trace/speedup.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/job/job.h"

namespace orrery::serve {
namespace {

constexpr double kMostSpeedup = 1000;
constexpr std::size_t kMostChanges = 16;
constexpr double kNanosecondsPerSecond = 1e9;

struct Change {
  std::string subject;
  std::string name;
  double speedup = 1;
};

struct Question {
  std::size_t run = 0;
  bool keep = false;
  std::vector<Change> changes;
};

Result<Question> QuestionOf(const std::string& body) {
  JsonText text;
  const std::optional<JsonElement> json = text.Parse(body);
  if (!json) {
    return Invalid("the question is not JSON");
  }
  if (!Field(json, "changes")) {
    return Invalid("the question has no changes");
  }
  Question question;
  question.run =
      static_cast<std::size_t>(std::max<std::int64_t>(Integer(Field(json, "run")).value_or(0), 0));
  bool keep = false;
  if (const auto field = Field(json, "keep"); field && !field->get(keep)) {
    question.keep = keep;
  }
  ForEachElement(Field(json, "changes"), [&](const JsonElement& element) {
    question.changes.push_back({std::string(Text(Field(element, "subject")).value_or("")),
                                std::string(Text(Field(element, "name")).value_or("")),
                                Number(Field(element, "speedup")).value_or(1)});
  });
  if (question.changes.size() > kMostChanges) {
    return Invalid("at most {} changes at once", kMostChanges);
  }
  for (const Change& change : question.changes) {
    if (!(change.speedup >= 1 / kMostSpeedup && change.speedup <= kMostSpeedup)) {
      return Invalid("a speedup is between 0.001 and 1,000");
    }
  }
  return question;
}

// The speedup that "compute", "network", "host", "kernel" with a name, or "class" with one of a
// class is; none for other subjects.
Result<std::optional<trace::Speedup>> SpeedupOf(const Change& change) {
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

std::optional<std::int64_t> WholeNumber(const std::string& text) {
  JsonText json;
  return Integer(json.Parse(text));
}

Status Apply(const Change& change, const ViewedRun& run, std::int64_t latency_ns,
             analyze::WhatIf& what_if) {
  ORRERY_TRY(const std::optional<trace::Speedup> speedup, SpeedupOf(change));
  if (speedup) {
    what_if.Apply(*speedup, latency_ns);
  } else if (change.subject == "stragglers") {
    what_if.RemoveStragglers();
  } else if (change.subject == "rank") {
    const std::optional<std::int64_t> rank = WholeNumber(change.name);
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

Value StepValue(std::int64_t before_ns, std::int64_t after_ns, std::vector<std::string> sentences,
                Value run) {
  const double change = before_ns == 0 ? 0
                                       : static_cast<double>(after_ns - before_ns) * 100 /
                                             static_cast<double>(before_ns);
  sentences.insert(sentences.begin(), fmt::format("The step time is {} instead of {} ({:+.1f} %).",
                                                  draw::FormatDuration({after_ns}),
                                                  draw::FormatDuration({before_ns}), change));
  return Value::Object()
      .Set("before_ns", before_ns)
      .Set("after_ns", after_ns)
      .Set("sentences", Value::ListOf(sentences))
      .Set("run", std::move(run));
}

Result<Value> Replayed(const ViewedRun& run, const Question& question) {
  const analyze::DependencyGraph& graph = analyze::GraphOf(run.view());
  if (graph.empty()) {
    return Fail(Error::Kind::kNotFound, "there is no step that all ranks have");
  }
  analyze::WhatIf what_if(run.view(), graph);
  const std::int64_t latency_ns = analyze::KeptLatencyNs(run.view());
  for (const Change& change : question.changes) {
    ORRERY_TRY_STATUS(Apply(change, run, latency_ns, what_if));
  }
  const auto step_ns = [&](std::int64_t path_ns) {
    return std::llround(kNanosecondsPerSecond *
                        analyze::ReplayedSeconds(run.view(), graph, path_ns));
  };
  return StepValue(step_ns(graph.path_ns()), step_ns(what_if.PathNs()),
                   {"By a replay of the recorded step: the order on every stream stays, kernels do "
                    "not slow each other down more or less."},
                   {});
}

// The number of GPUs that is nearest and has whole replicas, with as many replicas, whether or not
// the job names their number.
std::vector<std::string> ScaledGpus(const workload::Job& job, double factor) {
  const std::int64_t of_replica = std::max<std::int64_t>(job.gpus / std::max(job.plan.dp, 1), 1);
  const std::int64_t replicas = std::max<std::int64_t>(
      std::llround(static_cast<double>(job.gpus) * factor / static_cast<double>(of_replica)), 1);
  return {fmt::format("gpus={}", of_replica * replicas), fmt::format("plan.dp={}", replicas)};
}

Status Add(const Change& change, const workload::Job& job, JobChanges& changes) {
  ORRERY_TRY(const std::optional<trace::Speedup> speedup, SpeedupOf(change));
  if (speedup && simulate::IsOfSimulatedStep(speedup->part)) {
    changes.scenario.speedups.push_back(*speedup);
  } else if (change.subject == "rank") {
    const std::optional<std::int64_t> rank = WholeNumber(change.name);
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

Result<JobChanges> ChangesOf(const Question& question, const workload::Job& job) {
  JobChanges changes;
  for (const Change& change : question.changes) {
    ORRERY_TRY_STATUS(Add(change, job, changes));
  }
  return changes;
}

std::string PredictionSentence(const Value& recorded_ns, const Value& predicted_ns) {
  const auto* const recorded = std::get_if<double>(&recorded_ns.variant());
  const auto* const predicted = std::get_if<double>(&predicted_ns.variant());
  if (recorded == nullptr || predicted == nullptr) {
    return "The prediction is the second run.";
  }
  return fmt::format(
      "The predicted step takes {}, the recorded one {} ({:+.0f} %). The host is that of a model "
      "without a profiler: where the host limits the step, a recording is slower.",
      draw::FormatDuration({std::llround(*predicted)}),
      draw::FormatDuration({std::llround(*recorded)}), (*predicted / *recorded - 1) * 100);
}

}  // namespace

Result<Response> Answers::WhatIf(const Request& request) {
  ORRERY_TRY(const Question question, QuestionOf(request.body));
  const RunList runs = Runs();
  if (question.run >= runs.size()) {
    return Fail(Error::Kind::kNotFound, "there is no such run");
  }
  const ViewedRun& run = *runs[question.run];
  if (run.simulated() == nullptr || options_.actions.simulate == nullptr) {
    ORRERY_TRY(const Value value, Replayed(run, question));
    return JsonResponse(value);
  }
  ORRERY_TRY(const JobChanges changes, ChangesOf(question, *run.simulated()->job));
  ORRERY_TRY(std::shared_ptr<ViewedRun> simulated, options_.actions.simulate(run, changes));
  const std::int64_t before_ns = run.simulated()->simulation->step_ps() / 1000;
  const std::int64_t after_ns = simulated->simulated()->simulation->step_ps() / 1000;
  return JsonResponse(StepValue(before_ns, after_ns, {"The job was simulated again."},
                                question.keep ? Value(KeepMade(std::move(simulated))) : Value()));
}

Result<Response> Answers::Predict(const Request& /*request*/) {
  const RunList runs = Runs();
  if (options_.actions.predict == nullptr || runs.front()->simulated() != nullptr) {
    return Fail(Error::Kind::kNotFound, "this run cannot be predicted");
  }
  ORRERY_TRY(std::shared_ptr<ViewedRun> predicted, options_.actions.predict(*runs.front()));
  Value step_ns = StepTimeOf(*predicted);
  std::string sentence = PredictionSentence(StepTimeOf(*runs.front()), step_ns);
  return JsonResponse(Value::Object()
                          .Set("step_ns", std::move(step_ns))
                          .Set("run", KeepMade(std::move(predicted)))
                          .Set("sentences", Value::List().Add(std::move(sentence))));
}

}  // namespace orrery::serve
