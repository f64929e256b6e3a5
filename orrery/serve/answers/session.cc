#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "orrery/analyze/step_time.h"
#include "orrery/base/document/value.h"
#include "orrery/serve/answers/answers.h"
#include "orrery/serve/tiles/activity.h"
#include "orrery/serve/viewed_run.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::serve {
namespace {

constexpr std::size_t kMostSteps = 10'000;
constexpr double kNanosecondsPerSecond = 1e9;

// The place of the first trace that has steps; of the last one where none has.
std::size_t TraceWithSteps(const ViewedRun& run) {
  std::size_t place = 0;
  while (place + 1 < run.set().ranks.size() && run.set().ranks[place].steps.empty()) {
    ++place;
  }
  return place;
}

Value StepsOf(const ViewedRun& run) {
  Value steps = Value::List();
  if (run.set().ranks.empty()) {
    return steps;
  }
  const trace::Trace& trace = run.set().ranks[TraceWithSteps(run)];
  const std::size_t count = std::min(trace.steps.size(), kMostSteps);
  for (std::size_t i = 0; i < count; ++i) {
    steps.Add(
        Value::Object()
            .Set("name", trace.Text(trace.steps.name[i]))
            .Set("begin_ns", trace.steps.begin_ns[i] - run.begin_ns())
            .Set("end_ns", trace.steps.begin_ns[i] + trace.steps.duration_ns[i] - run.begin_ns()));
  }
  return steps;
}

// Whose markers the steps are.
Value RankOfSteps(const ViewedRun& run) {
  return run.set().ranks.empty()
             ? Value()
             : Value(std::int64_t{
                   trace::RankOf(run.set(), static_cast<std::uint32_t>(TraceWithSteps(run)))});
}

// The name of the run's time and its definition.
Value StepDefinitionOf(const ViewedRun& run) {
  if (run.simulated() != nullptr) {
    return "step time: the simulated step";
  }
  const std::optional<analyze::RunTime> time = analyze::MeasureRunTime(run.view());
  return time ? Value(fmt::format("{}: {}", time->name, time->definition)) : Value();
}

bool HasMemory(const ViewedRun& run) {
  return std::ranges::any_of(run.set().ranks, [](const trace::Trace& trace) {
    return !trace.memory_events.empty() || !trace.touches.empty();
  });
}

Value RunValue(const ViewedRun& run, const ViewOptions& options) {
  const bool is_simulated = run.simulated() != nullptr;
  return Value::Object()
      .Set("name", run.name())
      .Set("kind", is_simulated ? "simulated" : "recorded")
      .Set("begin_ns", std::to_string(run.begin_ns()))
      .Set("length_ns", run.length_ns())
      .Set("num_ranks", run.ranks().size())
      .Set("num_traces", run.set().ranks.size())
      .Set("num_events", run.num_events())
      .Set("problems", Value::ListOf(run.Problems()))
      .Set("steps", StepsOf(run))
      .Set("steps_rank", RankOfSteps(run))
      .Set("step_ns", StepTimeOf(run))
      .Set("step_definition", StepDefinitionOf(run))
      .Set("can_predict", !is_simulated && options.actions.predict != nullptr)
      .Set("can_what_if",
           is_simulated && options.actions.simulate != nullptr ? "simulate" : "replay")
      .Set("has_memory", HasMemory(run));
}

}  // namespace

Value StepTimeOf(const ViewedRun& run) {
  if (run.simulated() != nullptr) {
    return run.simulated()->simulation->step_ps() / 1000;
  }
  const analyze::StepTime step = analyze::MeasureStepTime(run.view());
  return step.seconds ? Value(*step.seconds * kNanosecondsPerSecond) : Value();
}

Value SessionOf(const RunList& runs, const ViewOptions& options) {
  Value classes = Value::List();
  for (const ActivityName& activity : kActivityNames) {
    classes.Add(Value::Object().Set("key", activity.key).Set("name", activity.text));
  }
  Value tabs = Value::List();
  for (const char* const tab : {"overview", "kernels", "collectives"}) {
    tabs.Add(tab);
  }
  if (std::ranges::any_of(runs, [](const auto& run) { return HasMemory(*run); })) {
    tabs.Add("memory");
  }
  tabs.Add("metrics");
  if (runs.size() > 1) {
    tabs.Add("differences");
  }
  if (options.plans) {
    tabs.Add("search");
  }
  return Value::Object()
      .Set("version", options.version)
      .Set("title", options.title)
      .Set("runs", Value::ListOf(runs, [&](const auto& run) { return RunValue(*run, options); }))
      .Set("can_open_plans", options.plans && options.actions.simulate_plan != nullptr)
      .Set("classes", std::move(classes))
      .Set("tabs", std::move(tabs));
}

Value RanksOf(const ViewedRun& run) {
  const auto column = [&](auto project) { return Value::ListOf(run.ranks(), project); };
  return Value::Object()
      .Set("rank", column(&RankRow::rank))
      .Set("trace", column(&RankRow::trace))
      .Set("stage", column(&RankRow::stage))
      .Set("node", column(&RankRow::node))
      .Set("late_ns", column(&RankRow::late_ns))
      .Set("label", column([](const RankRow& row) { return fmt::format("rank {}", row.rank); }));
}

}  // namespace orrery::serve
