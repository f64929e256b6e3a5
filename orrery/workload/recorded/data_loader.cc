#include "orrery/workload/recorded/data_loader.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "orrery/base/columns.h"
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

/// The durations of requests inside steps, for batches of processes of their own.
std::vector<std::int64_t> RequestsOf(const trace::Trace& recording) {
  std::vector<std::int64_t> requests;
  const auto is_in_step = [&](std::int64_t at_ns) {
    const auto next = std::ranges::upper_bound(recording.steps.begin_ns, at_ns);
    const auto step = next - recording.steps.begin_ns.begin() - 1;
    return step >= 0 && at_ns < recording.steps.begin_ns[step] + recording.steps.duration_ns[step];
  };
  for (RowId row = 0; row < recording.annotations.size(); ++row) {
    const std::string_view name = recording.Text(recording.annotations.name[row]);
    if (recording.annotations.kind[row] == trace::AnnotationKind::kHost && IsBatchRequest(name) &&
        !IsInProcess(name) && is_in_step(recording.annotations.begin_ns[row])) {
      requests.push_back(recording.annotations.duration_ns[row]);
    }
  }
  return requests;
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
  const std::vector<std::int64_t> requests = RequestsOf(recording);
  if (requests.empty()) {
    return std::nullopt;
  }
  std::int64_t steps_ns = 0;
  for (const std::int64_t duration_ns : recording.steps.duration_ns) {
    steps_ns += duration_ns;
  }
  std::int64_t requests_ns = 0;
  for (const std::int64_t duration_ns : requests) {
    requests_ns += duration_ns;
  }
  const auto [least, most] = std::ranges::minmax(requests);
  const bool is_irregular = static_cast<double>(most) > kIrregular * static_cast<double>(least);
  const double share = static_cast<double>(requests_ns) / static_cast<double>(steps_ns);
  if (share < (is_irregular ? kLeastWait : kClearWait)) {
    return std::nullopt;
  }
  const auto batches = std::ssize(requests);
  const std::int64_t own_ns = is_irregular ? least : 0;
  return LoaderPace{.batch_ns = steps_ns / batches,
                    .waited_ns = requests_ns / batches - own_ns,
                    .own_ns = own_ns};
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
