#include "orrery/workload/recorded/data_loader.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "orrery/base/columns.h"
#include "orrery/base/math/statistics.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"
#include "orrery/workload/program.h"

namespace orrery::workload {
namespace {

// Requests that take less of the recorded steps fetch batches that are there.
constexpr double kLeastWait = 0.05;

// Work takes about the same for each batch; a wait of this share of the steps is one all the same.
constexpr double kClearWait = 0.2;
constexpr double kIrregular = 2;  // the longest request over the shortest

bool IsInProcess(std::string_view annotation) {
  return annotation.find("SingleProcess") != std::string_view::npos;
}

/// A step and its requests for batches that processes of their own make.
struct LoaderStep {
  std::int64_t duration_ns = 0;
  std::vector<std::int64_t> requests_ns;
};

std::vector<LoaderStep> StepsOf(const trace::Trace& recording) {
  std::vector<LoaderStep> steps(recording.steps.size());
  for (RowId row = 0; row < recording.steps.size(); ++row) {
    steps[row].duration_ns = recording.steps.duration_ns[row];
  }
  for (RowId row = 0; row < recording.annotations.size(); ++row) {
    const std::string_view name = recording.Text(recording.annotations.name[row]);
    if (recording.annotations.kind[row] != trace::AnnotationKind::kHost || !IsBatchRequest(name) ||
        IsInProcess(name)) {
      continue;
    }
    const std::int64_t at_ns = recording.annotations.begin_ns[row];
    const auto next = std::ranges::upper_bound(recording.steps.begin_ns, at_ns);
    const auto step = next - recording.steps.begin_ns.begin() - 1;
    if (step >= 0 && at_ns < recording.steps.begin_ns[step] + recording.steps.duration_ns[step]) {
      steps[step].requests_ns.push_back(recording.annotations.duration_ns[row]);
    }
  }
  std::erase_if(steps, [](const LoaderStep& step) { return step.requests_ns.empty(); });
  return steps;
}

std::int64_t RequestsNs(const LoaderStep& step) {
  return std::accumulate(step.requests_ns.begin(), step.requests_ns.end(), std::int64_t{0});
}

/// The time of the program for a batch that is there; 0 where all requests wait.
std::int64_t OwnNs(std::span<const LoaderStep> steps) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::int64_t most = 0;
  for (const LoaderStep& step : steps) {
    for (const std::int64_t duration_ns : step.requests_ns) {
      least = std::min(least, duration_ns);
      most = std::max(most, duration_ns);
    }
  }
  return static_cast<double>(most) > kIrregular * static_cast<double>(least) ? least : 0;
}

// Batches of the steps before the first that waits were made before the recording began.
std::span<const LoaderStep> StepsFromFirstWait(std::span<const LoaderStep> steps) {
  const auto first = std::ranges::find_if(steps, [](const LoaderStep& step) {
    return static_cast<double>(RequestsNs(step)) >
           kLeastWait * static_cast<double>(step.duration_ns);
  });
  const auto begin = static_cast<std::size_t>(first - steps.begin());
  return begin + 1 < steps.size() ? steps.subspan(begin) : steps;
}

// The relative standard error of the mean step; of a single step the share that it waited.
double RelativeError(std::span<const LoaderStep> steps, double share) {
  if (steps.size() < 2) {
    return share;
  }
  std::vector<double> durations;
  for (const LoaderStep& step : steps) {
    durations.push_back(static_cast<double>(step.duration_ns));
  }
  const double mean = Mean(durations);
  double squares = 0;
  for (const double duration : durations) {
    squares += (duration / mean - 1) * (duration / mean - 1);
  }
  const auto count = static_cast<double>(durations.size());
  return std::sqrt(squares / (count - 1) / count);
}

}  // namespace

bool IsBatchRequest(std::string_view annotation) {
  return annotation.starts_with("enumerate(DataLoader)#");
}

bool HasDataLoader(const trace::Trace& graph) {
  for (RowId node = 0; node < graph.graph_nodes.size(); ++node) {
    if (graph.graph_nodes.kind[node] == trace::GraphNodeKind::kAnnotation &&
        IsBatchRequest(graph.Text(graph.graph_nodes.name[node]))) {
      return true;
    }
  }
  return false;
}

std::optional<LoaderPace> LoaderPaceOf(const trace::Trace& recording) {
  const std::vector<LoaderStep> all = StepsOf(recording);
  if (all.empty()) {
    return std::nullopt;
  }
  const std::int64_t own_ns = OwnNs(all);
  const std::span<const LoaderStep> steps = StepsFromFirstWait(all);
  std::int64_t steps_ns = 0;
  std::int64_t requests_ns = 0;
  std::int64_t batches = 0;
  for (const LoaderStep& step : steps) {
    steps_ns += step.duration_ns;
    requests_ns += RequestsNs(step);
    batches += std::ssize(step.requests_ns);
  }
  const double share = static_cast<double>(requests_ns) / static_cast<double>(steps_ns);
  if (share < (own_ns > 0 ? kLeastWait : kClearWait)) {
    return std::nullopt;
  }
  return LoaderPace{.batch_ns = steps_ns / batches,
                    .waited_ns = requests_ns / batches - own_ns,
                    .own_ns = own_ns,
                    .relative_error = RelativeError(steps, share)};
}

std::int64_t RecordedBatchNs(const trace::Trace& recording) {
  std::int64_t steps_ns = 0;
  std::int64_t batches = 0;
  for (const LoaderStep& step : StepsOf(recording)) {
    steps_ns += step.duration_ns;
    batches += std::ssize(step.requests_ns);
  }
  return batches == 0 ? 0 : steps_ns / batches;
}

void AddLoader(const LoaderPace& loader, Program& program) {
  const LaneId lane = program.lanes.Append({.kind = LaneKind::kHostThread});
  for (CallId call = 0; call < program.calls.size(); ++call) {
    const TaskId request = program.calls.last_task[call];
    if (program.calls.is_annotation[call] == 0 || request == kNone ||
        !IsBatchRequest(program.strings.View(program.calls.name[call]))) {
      continue;
    }
    program.tasks.duration_ps[request] = loader.own_ns * 1000;
    const TaskId batch =
        program.tasks.Append({.lane = lane, .duration_ps = loader.batch_ns * 1000});
    program.edges.Append({.from = batch, .to = request});
  }
}

}  // namespace orrery::workload
