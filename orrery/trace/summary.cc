#include "orrery/trace/summary.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/columns.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

namespace orrery::trace {
namespace {

std::int64_t CountEqual(const auto& column, auto value) {
  return std::count(column.begin(), column.end(), value);
}

std::int64_t CountHostOps(const Trace& trace) {
  return trace.host_ops.empty() ? CountEqual(trace.graph_nodes.kind, GraphNodeKind::kOperator)
                                : static_cast<std::int64_t>(trace.host_ops.size());
}

std::int64_t CountCollectives(const Trace& trace) {
  const std::int64_t on_device =
      std::count_if(trace.collectives.num_kernels.begin(), trace.collectives.num_kernels.end(),
                    [](std::int32_t num_kernels) { return num_kernels > 0; });
  return on_device > 0 ? on_device : static_cast<std::int64_t>(trace.collectives.size());
}

std::int64_t Rows(const auto& table) {
  return static_cast<std::int64_t>(table.size());
}

}  // namespace

std::vector<NamedCount> CountRows(const Trace& trace) {
  const Activities& activities = trace.activities;
  return {
      {"kernels", CountEqual(activities.kind, ActivityKind::kKernel)},
      {"copies", CountEqual(activities.kind, ActivityKind::kMemcpy)},
      {"sets", CountEqual(activities.kind, ActivityKind::kMemset)},
      {"other_device_work", CountEqual(activities.kind, ActivityKind::kOther)},
      {"host_ops", CountHostOps(trace)},
      {"runtime_calls", Rows(trace.runtime_calls)},
      {"driver_calls", CountEqual(trace.runtime_calls.api, ApiKind::kDriver)},
      {"collectives", CountCollectives(trace)},
      {"collective_calls", Rows(trace.collectives)},
      {"process_groups", Rows(trace.process_groups)},
      {"annotations", CountEqual(trace.annotations.kind, AnnotationKind::kHost)},
      {"device_annotations", CountEqual(trace.annotations.kind, AnnotationKind::kDevice)},
      {"syncs", Rows(trace.syncs)},
      {"memory_events", Rows(trace.memory_events)},
      {"counters", Rows(trace.counters)},
      {"python_functions", Rows(trace.python_calls)},
      {"instants", Rows(trace.instants)},
      {"other_slices", Rows(trace.other_slices)},
      {"flows", Rows(trace.flows)},
      {"graph_nodes", Rows(trace.graph_nodes)},
      {"memory_objects", Rows(trace.memory_objects)},
      {"touches", Rows(trace.touches)},
      {"page_runs", Rows(trace.page_runs)},
      {"accesses", Rows(trace.accesses)},
      {"tracks", Rows(trace.tracks)},
  };
}

std::string DeviceName(const Trace& trace) {
  std::set<std::int32_t> used;
  for (RowId row = 0; row < trace.tracks.size(); ++row) {
    if (trace.tracks.kind[row] == TrackKind::kDevice) {
      used.insert(trace.tracks.device[row]);
    }
  }
  std::vector<std::string_view> names;
  for (RowId row = 0; row < trace.devices.size(); ++row) {
    const std::string_view name = trace.Text(trace.devices.name[row]);
    const bool counts = used.empty() || used.contains(trace.devices.id[row]);
    if (counts && !name.empty() && std::find(names.begin(), names.end(), name) == names.end()) {
      names.push_back(name);
    }
  }
  std::string joined;
  for (const std::string_view name : names) {
    joined += joined.empty() ? "" : ", ";
    joined += name;
  }
  return joined;
}

}  // namespace orrery::trace
