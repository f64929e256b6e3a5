#include "orrery/analyze/step_time.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "orrery/analyze/breakdown/communication_parts.h"
#include "orrery/analyze/breakdown/pipeline_drain.h"
#include "orrery/analyze/fields.h"
#include "orrery/analyze/metric.h"
#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/base/math/interval_set.h"
#include "orrery/base/math/statistics.h"
#include "orrery/base/text/table.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::analyze {
namespace {

void Extend(Interval& whole, std::int64_t begin_ns, std::int64_t end_ns) {
  whole.begin_ns = std::min(whole.begin_ns, begin_ns);
  whole.end_ns = std::max(whole.end_ns, end_ns);
}

std::vector<RankSteps> StepsOfRanks(const RunView& run) {
  std::vector<RankSteps> ranks;
  for (const std::uint32_t place : ChosenRanks(run)) {
    const trace::Trace& trace = run.set->ranks[place];
    RankSteps steps{.rank = trace::RankOf(*run.set, place)};
    for (const RowId step : SelectedSteps(trace, run.options)) {
      steps.seconds.push_back(static_cast<double>(trace.steps.duration_ns[step]) / 1e9);
    }
    if (!steps.seconds.empty()) {
      ranks.push_back(std::move(steps));
    }
  }
  return ranks;
}

// Reads digits at the front of `text` and removes them.
std::optional<std::int64_t> TakeNumber(std::string_view& text) {
  std::int64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc()) {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
  return number;
}

bool TakeWord(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) {
    return false;
  }
  text.remove_prefix(word.size());
  return true;
}

// "(12)", "(sq12sk12sqsq144sqsk144)": the first number, and the rest is skipped.
std::int64_t TakeParenthesis(std::string_view& text) {
  if (!text.starts_with('(')) {
    return 0;
  }
  const std::size_t end = text.find(')');
  std::string_view inside = text.substr(1, end - 1);
  text.remove_prefix(std::min(end == std::string_view::npos ? text.size() : end + 1, text.size()));
  while (!inside.empty() && (inside.front() < '0' || inside.front() > '9')) {
    inside.remove_prefix(1);
  }
  return TakeNumber(inside).value_or(0);
}

std::map<std::uint32_t, std::vector<const DeviceView*>> PipelineGroups(const RunView& run) {
  const std::vector<std::uint32_t> pipelines = PipelinesOf(run);
  std::map<std::uint32_t, std::vector<const DeviceView*>> result;
  for (const DeviceView& device : run.devices) {
    result[pipelines[device.rank_index]].push_back(&device);
  }
  std::erase_if(result, [](const auto& group) { return group.second.size() < 2; });
  return result;
}

// The time of one stage in one step.
struct Stage {
  Interval own;  // from its first activity of the step to the end of its last
  IntervalSet useful;
  IntervalSet pipeline_waits;  // in messages
  IntervalSet drain_waits;     // in groups that span stages
};

Stage StageOf(const RunView& run, const DeviceView& device, const Window& window) {
  Stage stage{.own = {window.time.begin_ns, window.last_end_ns},
              .useful = {},
              .pipeline_waits = {},
              .drain_waits = {}};
  std::vector<Interval> useful;
  std::vector<Interval> waits;
  std::vector<Interval> drains;
  for (const CommunicationPart& part : CommunicationParts(run, device)) {
    if (part.dimension == Dimension::kPipeline) {
      useful.push_back({part.useful_ns, part.time.end_ns});
      waits.push_back({part.time.begin_ns, part.useful_ns});
    } else {
      drains.push_back({part.time.begin_ns, part.drained_ns});
      useful.push_back({part.drained_ns, part.time.end_ns});
    }
  }
  stage.useful =
      Clipped(Union(Union(device.compute, device.memory), IntervalSet::Of(useful)), stage.own);
  stage.pipeline_waits = Clipped(IntervalSet::Of(waits), stage.own);
  stage.drain_waits = Clipped(IntervalSet::Of(drains), stage.own);
  return stage;
}

// The launch of the first activity that begins when an idle interval ends.
std::optional<std::int64_t> LaunchOfNext(const RunView& run, const DeviceView& device,
                                         std::int64_t time_ns) {
  const trace::Trace& trace = run.TraceOf(device);
  const auto next = std::ranges::lower_bound(
      device.activities, time_ns, {}, [&](RowId row) { return trace.activities.begin_ns[row]; });
  if (next == device.activities.end() || trace.activities.launch[*next] == kNoRow) {
    return std::nullopt;
  }
  return trace.runtime_calls.begin_ns[trace.activities.launch[*next]];
}

// From the first useful work of a stage to the end of its last.
Interval SpanOf(const Stage& stage) {
  return stage.useful.empty() ? Interval{}
                              : Interval{stage.useful.intervals().front().begin_ns,
                                         stage.useful.intervals().back().end_ns};
}

// `window_ns` is the time of the step, of which a stage uses its span at most.
void ClassifyIdle(const RunView& run, const DeviceView& device, const Stage& stage,
                  std::int64_t window_ns, StageTime& time) {
  const Interval span = SpanOf(stage);
  time.window_ns = window_ns;
  time.useful_ns = stage.useful.length_ns();
  time.edge_ns = window_ns - span.length_ns();
  IntervalSet whole;
  whole.Append(span.begin_ns, span.end_ns);
  const IntervalSet idle = Difference(whole, stage.useful);
  time.p2p_wait_ns = OverlapNs(idle, stage.pipeline_waits);
  const IntervalSet in_no_message = Difference(idle, stage.pipeline_waits);
  time.drain_ns = OverlapNs(in_no_message, stage.drain_waits);
  // The idle time outside these waits is attributed to the host or to other causes.
  const IntervalSet rest = Difference(in_no_message, stage.drain_waits);
  for (const Interval& gap : rest.intervals()) {
    const auto launch_ns = LaunchOfNext(run, device, gap.end_ns);
    const bool is_host = launch_ns && *launch_ns > gap.begin_ns;
    (is_host ? time.host_ns : time.other_ns) += gap.length_ns();
  }
}

const Window* WindowOf(const DeviceView& device, std::int64_t number) {
  const auto found = std::ranges::find(device.windows, number, &Window::number);
  return found == device.windows.end() ? nullptr : &*found;
}

std::optional<PipelineStep> MeasureStep(const RunView& run,
                                        const std::vector<const DeviceView*>& devices,
                                        std::int64_t number) {
  PipelineStep step{.step = number, .stages = {}};
  std::vector<Stage> stages;
  Interval whole{INT64_MAX, INT64_MIN};
  std::int64_t longest_ns = 0;
  std::int64_t marker_ns = 0;
  for (const DeviceView* const device : devices) {
    const Window* const window = WindowOf(*device, number);
    if (window == nullptr) {
      return std::nullopt;
    }
    stages.push_back(StageOf(run, *device, *window));
    whole.begin_ns = std::min(whole.begin_ns, stages.back().own.begin_ns);
    whole.end_ns = std::max(whole.end_ns, stages.back().own.end_ns);
    longest_ns = std::max(longest_ns, SpanOf(stages.back()).length_ns());
    marker_ns = std::max(marker_ns, window->marker_ns);
  }
  // Stages that end at different times overlap with the next step: the range over all of them is
  // longer than a step, although no single stage takes that long.
  const std::int64_t window_ns =
      marker_ns > 0 ? std::clamp(marker_ns, longest_ns, std::max(longest_ns, whole.length_ns()))
                    : whole.length_ns();
  for (std::size_t i = 0; i < stages.size(); ++i) {
    StageTime& time = step.stages.emplace_back();
    time.rank = devices[i]->rank;
    ClassifyIdle(run, *devices[i], stages[i], window_ns, time);
  }
  return step;
}

}  // namespace

Interval RecordedTime(const RunView& run, bool& is_device_time) {
  Interval whole{std::numeric_limits<std::int64_t>::max(),
                 std::numeric_limits<std::int64_t>::min()};
  for (const DeviceView& device : run.devices) {
    const trace::Activities& activities = run.TraceOf(device).activities;
    for (const RowId row : device.activities) {
      Extend(whole, activities.begin_ns[row],
             activities.begin_ns[row] + activities.duration_ns[row]);
    }
  }
  is_device_time = whole.begin_ns < whole.end_ns;
  if (!is_device_time) {
    for (const trace::Trace& trace : run.set->ranks) {
      const trace::Span span = trace::RecordedSpan(trace);
      Extend(whole, span.begin_ns, span.end_ns);
    }
  }
  return whole.begin_ns < whole.end_ns ? whole : Interval{};
}

StepTime MeasureStepTime(const RunView& run) {
  StepTime time{.ranks = StepsOfRanks(run)};
  std::vector<double> means;
  for (const RankSteps& rank : time.ranks) {
    means.push_back(Mean(rank.seconds));
  }
  if (!means.empty()) {
    time.seconds = Mean(means);
    return time;
  }
  bool is_device_time = false;
  const Interval whole = RecordedTime(run, is_device_time);
  const auto iterations = CardInteger(*run.set, "iteration");
  if (iterations && whole.length_ns() > 0) {
    time.seconds = static_cast<double>(whole.length_ns()) / 1e9 / static_cast<double>(*iterations);
    time.is_estimated = true;
  }
  return time;
}

std::optional<RunTime> MeasureRunTime(const RunView& run) {
  const StepTime step = MeasureStepTime(run);
  if (step.seconds && *step.seconds > 0) {
    return RunTime{
        .name = "step time",
        .definition = step.is_estimated
                          ? "recorded span / number of iterations in the workload card"
                          : "mean duration of the selected step markers, then mean over ranks",
        .seconds = *step.seconds,
        .is_step = true};
  }
  bool is_device_time = false;
  const Interval whole = RecordedTime(run, is_device_time);
  if (whole.length_ns() <= 0) {
    return std::nullopt;
  }
  return RunTime{.name = "recorded span",
                 .definition = is_device_time
                                   ? "no step markers: first begin to last end of GPU work"
                                   : "no step markers, no GPU work: first to last event on hosts",
                 .seconds = static_cast<double>(whole.length_ns()) / 1e9};
}

std::optional<EngineStep> ParseEngineStep(std::string_view name) {
  if (!TakeWord(name, "execute_")) {
    return std::nullopt;
  }
  EngineStep step;
  const auto all_tokens = TakeNumber(name);
  if (all_tokens && !TakeWord(name, "_")) {
    return std::nullopt;
  }
  if (!TakeWord(name, "context_")) {
    return std::nullopt;
  }
  step.num_prompts = TakeNumber(name).value_or(0);
  step.context_tokens = TakeParenthesis(name);
  if (TakeWord(name, "_generation_")) {
    step.generated_tokens = TakeNumber(name).value_or(0);
  }
  if (all_tokens) {
    step.context_tokens = *all_tokens - step.generated_tokens;
  }
  return step;
}

const Table* FindTable(const RunView& run, std::string_view format) {
  const auto found = std::ranges::find(run.measurements, format, &Measurement::format);
  return found == run.measurements.end() ? nullptr : found->rows;
}

std::vector<PipelineStep> MeasurePipelines(const RunView& run) {
  std::vector<PipelineStep> steps;
  for (const auto& [lowest, devices] : PipelineGroups(run)) {
    for (const Window& window : devices.front()->windows) {
      if (auto step = MeasureStep(run, devices, window.number)) {
        steps.push_back(*std::move(step));
      }
    }
  }
  return steps;
}

}  // namespace orrery::analyze
