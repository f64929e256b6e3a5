#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/analyze/step_time.h"
#include "orrery/api/version.h"
#include "orrery/api/view.h"
#include "orrery/api/view/requests.h"
#include "orrery/api/view/results.h"
#include "orrery/api/view/tiles/activity.h"
#include "orrery/api/view/view_state.h"
#include "orrery/api/view/viewed_run.h"
#include "orrery/base/error.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::api::view {
namespace {

constexpr std::size_t kMostSteps = 10'000;

// The place of the first trace that has steps; of the last one where none has.
std::size_t TraceWithSteps(const ViewedRun& run) {
  std::size_t place = 0;
  while (place + 1 < run.set().ranks.size() && run.set().ranks[place].steps.empty()) {
    ++place;
  }
  return place;
}

std::vector<Step> StepsOf(const ViewedRun& run) {
  std::vector<Step> steps;
  if (run.set().ranks.empty()) {
    return steps;
  }
  const trace::Trace& trace = run.set().ranks[TraceWithSteps(run)];
  const std::size_t count = std::min(trace.steps.size(), kMostSteps);
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t begin_ns = trace.steps.begin_ns[i] - run.begin_ns();
    steps.push_back({std::string(trace.Text(trace.steps.name[i])), begin_ns,
                     begin_ns + trace.steps.duration_ns[i]});
  }
  return steps;
}

// Whose markers the steps are.
std::optional<std::int64_t> RankOfSteps(const ViewedRun& run) {
  return run.set().ranks.empty() ? std::nullopt
                                 : std::optional<std::int64_t>(trace::RankOf(
                                       run.set(), static_cast<std::uint32_t>(TraceWithSteps(run))));
}

// The name of the run's time and its definition.
std::optional<std::string> StepDefinitionOf(const ViewedRun& run) {
  if (run.simulated() != nullptr) {
    return "step time: the simulated step";
  }
  const std::optional<analyze::RunTime> time = analyze::MeasureRunTime(run.view());
  return time ? std::optional(fmt::format("{}: {}", time->name, time->definition)) : std::nullopt;
}

bool HasMemory(const ViewedRun& run) {
  return std::ranges::any_of(run.set().ranks, [](const trace::Trace& trace) {
    return !trace.memory_events.empty() || !trace.touches.empty();
  });
}

RunInfo InfoOf(const ViewedRun& run, const RunMakers& makers) {
  const bool is_simulated = run.simulated() != nullptr;
  return {.name = run.name(),
          .kind = is_simulated ? "simulated" : "recorded",
          .begin_ns = std::to_string(run.begin_ns()),
          .length_ns = run.length_ns(),
          .num_ranks = static_cast<std::int64_t>(run.ranks().size()),
          .num_traces = static_cast<std::int64_t>(run.set().ranks.size()),
          .num_events = run.num_events(),
          .problems = run.Problems(),
          .steps = StepsOf(run),
          .steps_rank = RankOfSteps(run),
          .step_ns = run.StepNs(),
          .step_definition = StepDefinitionOf(run),
          .can_predict = !is_simulated && makers.predict != nullptr,
          .can_what_if = is_simulated && makers.simulate != nullptr ? "simulate" : "replay",
          .has_memory = HasMemory(run)};
}

}  // namespace

Result<SessionInfo> DescribeSession(const View& view, const SessionRequest& /*request*/) {
  const ViewState& state = view.state();
  const RunList runs = state.Runs();
  SessionInfo info{.version = fmt::format("orrery {}", Version()),
                   .title = runs.front()->name(),
                   .can_open_plans = state.plans && state.makers.simulate_plan != nullptr,
                   .tabs = {"overview", "kernels", "collectives"}};
  for (const std::shared_ptr<ViewedRun>& run : runs) {
    info.runs.push_back(InfoOf(*run, state.makers));
  }
  for (const ActivityName& activity : kActivityNames) {
    info.classes.push_back({std::string(activity.key), std::string(activity.text)});
  }
  if (std::ranges::any_of(info.runs, &RunInfo::has_memory)) {
    info.tabs.emplace_back("memory");
  }
  info.tabs.emplace_back("metrics");
  if (runs.size() > 1) {
    info.tabs.emplace_back("differences");
  }
  if (state.plans) {
    info.tabs.emplace_back("search");
  }
  return info;
}

Result<Ranks> ListRanks(const View& view, const RunRequest& request) {
  ORRERY_TRY(const std::shared_ptr<const ViewedRun> run, view.state().RunAt(request.run));
  Ranks ranks;
  for (const RankRow& row : run->ranks()) {
    ranks.rank.push_back(row.rank);
    ranks.trace.push_back(row.trace);
    ranks.stage.push_back(row.stage);
    ranks.node.push_back(row.node);
    ranks.late_ns.push_back(row.late_ns);
    ranks.label.push_back(fmt::format("rank {}", row.rank));
  }
  return ranks;
}

}  // namespace orrery::api::view
