#include "orrery/trace/trace.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/columns.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/tables.h"

namespace orrery::trace {
namespace {

std::int64_t CountEqual(const auto& column, auto value) {
  return std::count(column.begin(), column.end(), value);
}

std::int64_t Rows(const auto& table) {
  return static_cast<std::int64_t>(table.size());
}

}  // namespace

Span RecordedSpan(const Trace& trace) {
  Span span{std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
  const auto add = [&](std::int64_t begin_ns, std::int64_t duration_ns) {
    span.begin_ns = std::min(span.begin_ns, begin_ns);
    span.end_ns = std::max(span.end_ns, begin_ns + duration_ns);
  };
  const auto add_slices = [&](const auto&... tables) {
    const auto add_table = [&](const auto& table) {
      for (std::size_t row = 0; row < table.size(); ++row) {
        add(table.begin_ns[row], table.duration_ns[row]);
      }
    };
    (add_table(tables), ...);
  };
  add_slices(trace.activities, trace.host_ops, trace.runtime_calls, trace.annotations, trace.syncs,
             trace.python_calls);
  for (const std::int64_t time_ns : trace.memory_events.begin_ns) {
    add(time_ns, 0);
  }
  for (std::size_t row = 0; row < trace.graph_nodes.size(); ++row) {
    if (trace.graph_nodes.begin_ns[row] >= 0) {
      add(trace.graph_nodes.begin_ns[row], trace.graph_nodes.duration_ns[row]);
    }
  }
  return span.begin_ns > span.end_ns ? Span{} : span;
}

std::vector<NamedCount> CountRows(const Trace& trace) {
  const Activities& activities = trace.activities;
  const std::int64_t device_collectives = std::ranges::count_if(
      trace.collectives.num_kernels, [](std::int32_t num_kernels) { return num_kernels > 0; });
  return {
      {"kernels", CountEqual(activities.kind, ActivityKind::kKernel)},
      {"copies", CountEqual(activities.kind, ActivityKind::kMemcpy)},
      {"sets", CountEqual(activities.kind, ActivityKind::kMemset)},
      {"other_device_work", CountEqual(activities.kind, ActivityKind::kOther)},
      {"host_ops", trace.host_ops.empty()
                       ? CountEqual(trace.graph_nodes.kind, GraphNodeKind::kOperator)
                       : Rows(trace.host_ops)},
      {"runtime_calls", Rows(trace.runtime_calls)},
      {"driver_calls", CountEqual(trace.runtime_calls.api, ApiKind::kDriver)},
      {"collectives", device_collectives > 0 ? device_collectives : Rows(trace.collectives)},
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
