#include "orrery/analyze/windows.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include "orrery/trace/tables.h"

namespace orrery::analyze {
namespace {


constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

// What a step launched on one device.
struct StepExtent {
  std::int64_t first_begin_ns = kNever;
  std::int64_t last_end_ns = std::numeric_limits<std::int64_t>::min();

  [[nodiscard]] bool empty() const { return first_begin_ns == kNever; }
};

// Steps are in order of begin and do not overlap on a thread, so the last one that began decides.
std::optional<std::size_t> StepAt(const trace::Steps& steps, std::int64_t time_ns) {
  const auto after = std::ranges::upper_bound(steps.begin_ns, time_ns);
  if (after == steps.begin_ns.begin()) {
    return std::nullopt;
  }
  const auto step = static_cast<std::size_t>(after - steps.begin_ns.begin()) - 1;
  return time_ns < steps.begin_ns[step] + steps.duration_ns[step] ? std::optional(step)
                                                                  : std::nullopt;
}

std::vector<StepExtent> LaunchedExtents(const trace::Trace& trace,
                                        const std::vector<RowId>& activities) {
  std::vector<StepExtent> extents(trace.steps.size());
  for (const RowId row : activities) {
    const std::int64_t begin_ns = trace.activities.begin_ns[row];
    const RowId launch = trace.activities.launch[row];
    // Where the launch was not recorded, the activity's own time has to do.
    const auto step =
        StepAt(trace.steps, launch == kNoRow ? begin_ns : trace.runtime_calls.begin_ns[launch]);
    if (step) {
      StepExtent& extent = extents[*step];
      extent.first_begin_ns = std::min(extent.first_begin_ns, begin_ns);
      extent.last_end_ns =
          std::max(extent.last_end_ns, begin_ns + trace.activities.duration_ns[row]);
    }
  }
  return extents;
}

std::vector<StepExtent> MarkerExtents(const trace::Steps& steps) {
  std::vector<StepExtent> extents;
  for (std::size_t step = 0; step < steps.size(); ++step) {
    extents.push_back({steps.begin_ns[step], steps.begin_ns[step] + steps.duration_ns[step]});
  }
  return extents;
}

// The first later step that did something begins where this one ends.
std::int64_t WindowEnd(const std::vector<StepExtent>& extents, std::size_t step) {
  for (std::size_t next = step + 1; next < extents.size(); ++next) {
    if (!extents[next].empty()) {
      return extents[next].first_begin_ns;
    }
  }
  return extents[step].last_end_ns;
}

std::vector<Window> WholeRecording(const trace::Trace& trace,
                                   const std::vector<RowId>& activities) {
  if (activities.empty()) {
    return {};
  }
  Interval whole{trace.activities.begin_ns[activities.front()],
                 std::numeric_limits<std::int64_t>::min()};
  for (const RowId row : activities) {
    whole.end_ns =
        std::max(whole.end_ns, trace.activities.begin_ns[row] + trace.activities.duration_ns[row]);
  }
  return {{.time = whole, .last_end_ns = whole.end_ns}};
}

}  // namespace

std::vector<RowId> SelectedSteps(const trace::Trace& trace, const AnalyzeOptions& options) {
  const std::size_t count = trace.steps.size();
  const bool drops_ends = !options.steps && count > 2;
  std::vector<RowId> selected;
  for (std::size_t step = drops_ends ? 1 : 0; step < count - (drops_ends ? 1 : 0); ++step) {
    const std::int64_t number = trace.steps.number[step];
    if (!options.steps || (options.steps->first <= number && number < options.steps->end)) {
      selected.push_back(static_cast<RowId>(step));
    }
  }
  return selected;
}

std::vector<Window> DeviceWindows(const trace::Trace& trace, const std::vector<RowId>& activities,
                                  const AnalyzeOptions& options) {
  if (trace.steps.empty()) {
    return WholeRecording(trace, activities);
  }
  const bool has_launches = std::ranges::any_of(
      activities, [&](RowId row) { return trace.activities.launch[row] != kNoRow; });
  std::vector<StepExtent> extents =
      has_launches ? LaunchedExtents(trace, activities) : MarkerExtents(trace.steps);
  std::vector<Window> windows;
  for (const RowId step : SelectedSteps(trace, options)) {
    if (extents[step].empty()) {
      continue;
    }
    const Interval time{extents[step].first_begin_ns, WindowEnd(extents, step)};
    // A step whose work begins after that of the next one has no time of its own.
    if (time.begin_ns <= time.end_ns) {
      windows.push_back({.time = time,
                         .last_end_ns = extents[step].last_end_ns,
                         .step = step,
                         .number = trace.steps.number[step],
                         .marker_ns = trace.steps.duration_ns[step]});
    }
  }
  return windows;
}

}  // namespace orrery::analyze
