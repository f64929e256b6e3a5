#include "orrery/analyze/graph/step_window.h"

#include <algorithm>
#include <limits>
#include <set>

#include "orrery/trace/trace.h"

namespace orrery::analyze {
namespace {

constexpr Interval kNothing{std::numeric_limits<std::int64_t>::max(),
                            std::numeric_limits<std::int64_t>::min()};

void Widen(Interval& window, std::int64_t begin_ns, std::int64_t end_ns) {
  window.begin_ns = std::min(window.begin_ns, begin_ns);
  window.end_ns = std::max(window.end_ns, end_ns);
}

std::optional<StepWindow> WholeRecording(const RunView& run) {
  StepWindow step{.time = kNothing};
  for (const trace::Trace& trace : run.set->ranks) {
    const trace::Span span = trace::RecordedSpan(trace);
    if (span.duration_ns() > 0) {
      Widen(step.time, span.begin_ns, span.end_ns);
    }
  }
  if (step.time == kNothing) {
    return std::nullopt;
  }
  step.end_of_rank.assign(run.set->ranks.size(), {step.time.end_ns, step.time.end_ns});
  return step;
}

std::set<std::int64_t> SelectedNumbers(const trace::Trace& trace, const AnalyzeOptions& options) {
  std::set<std::int64_t> numbers;
  for (const RowId step : SelectedSteps(trace, options)) {
    numbers.insert(trace.steps.number[step]);
  }
  return numbers;
}

// Nothing when no rank has steps; else the numbers that all of those with steps share.
std::optional<std::set<std::int64_t>> CommonNumbers(const RunView& run) {
  std::optional<std::set<std::int64_t>> common;
  for (const trace::Trace& trace : run.set->ranks) {
    if (trace.steps.empty()) {
      continue;
    }
    const std::set<std::int64_t> numbers = SelectedNumbers(trace, run.options);
    if (!common) {
      common = numbers;
    } else {
      std::erase_if(*common, [&](std::int64_t number) { return !numbers.contains(number); });
    }
  }
  return common;
}

// Markers of some tools have no number, so that several steps share one: the first counts.
RowId FirstStepWithNumber(const trace::Trace& trace, const AnalyzeOptions& options,
                                 std::int64_t number) {
  for (const RowId step : SelectedSteps(trace, options)) {
    if (trace.steps.number[step] == number) {
      return step;
    }
  }
  return kNoRow;
}

// Of all devices of the rank.
Interval DeviceWindow(const RunView& run, std::uint32_t rank_index, RowId row) {
  Interval whole = kNothing;
  for (const DeviceView& device : run.devices) {
    for (const Window& window : device.windows) {
      if (device.rank_index == rank_index && window.step == row) {
        Widen(whole, window.time.begin_ns, window.time.end_ns);
      }
    }
  }
  return whole;
}

// Adds the step of one rank to the window of all.
void AddRank(const RunView& run, std::uint32_t rank_index, StepWindow& step) {
  const trace::Trace& trace = run.set->ranks[rank_index];
  const RowId row = FirstStepWithNumber(trace, run.options, step.number);
  if (row == kNoRow) {
    return;
  }
  const std::int64_t begin_ns = trace.steps.begin_ns[row];
  StepEnd& end = step.end_of_rank[rank_index];
  end.host_ns = begin_ns + trace.steps.duration_ns[row];
  Widen(step.time, begin_ns, end.host_ns);
  const Interval device = DeviceWindow(run, rank_index, row);
  end.device_ns = end.host_ns;
  if (device != kNothing) {
    end.device_ns = device.end_ns;
    Widen(step.time, device.begin_ns, device.end_ns);
  }
}

}  // namespace

std::optional<StepWindow> FirstCommonStep(const RunView& run) {
  const std::optional<std::set<std::int64_t>> common = CommonNumbers(run);
  if (!common) {
    return WholeRecording(run);
  }
  if (common->empty()) {
    return std::nullopt;
  }
  StepWindow step{.time = kNothing, .number = *common->begin()};
  step.end_of_rank.assign(run.set->ranks.size(), {kNothing.begin_ns, kNothing.begin_ns});
  for (std::uint32_t rank = 0; rank < run.set->ranks.size(); ++rank) {
    AddRank(run, rank, step);
  }
  return step;
}

}  // namespace orrery::analyze
