#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "orrery/analyze/aggregate.h"
#include "orrery/analyze/graph/critical_path.h"
#include "orrery/analyze/graph/dependency_graph.h"
#include "orrery/analyze/graph/graph_holder.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"

namespace orrery::analyze::launch_bound_time {
namespace {

constexpr std::array kLaunchBound = {TimeClass::kHost, TimeClass::kHostGap, TimeClass::kLaunch,
                                     TimeClass::kLaunchOverhead};

MetricResult Compute(const RunView& run) {
  const DependencyGraph& graph = GraphOf(run);
  if (graph.empty()) {
    return NotAvailable("no step that all ranks have");
  }
  const CriticalPath path = FindCriticalPath(graph, RecordedTiming(graph));
  MetricResult result;
  std::int64_t bound_ns = 0;
  for (const TimeClass time_class : kLaunchBound) {
    bound_ns += path.ClassNs(time_class);
    result.detail.Set(std::string(TimeClassName(time_class)) + "_ns", path.ClassNs(time_class));
  }
  result.value = Percent(bound_ns, path.length_ns());
  result.detail.Set("path_ns", path.length_ns());
  if (!result.value) {
    return NotAvailable("the step takes no time");
  }
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {{.name = "launch_bound_time",
           .meaning = "Share of the step in which the device waited for the host to launch work",
           .unit = "%",
           .needs = {{NeedKind::kGpu}},
           .definition = "The share of the critical path in time of the host (inside operators and "
                         "calls, and between them), in launches, and in unexplained delays of "
                         "starts below the launch gap.",
           .compute = &Compute,
           .better = Better::kLower}};
}

}  // namespace orrery::analyze::launch_bound_time
