#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/string_table.h"
#include "orrery/trace/memory_tables.h"
#include "orrery/trace/problems.h"
#include "orrery/trace/tables.h"

namespace orrery::trace {

/// Properties of a rank besides its rows.
struct TraceInfo {
  std::int32_t rank = -1;  // -1: the content does not say
  std::int32_t world_size = -1;
  std::string format;          // "Kineto JSON", "nsys SQLite", …
  std::string format_version;  // generation or schema
  std::string producer;        // the tool that wrote it, with version, if it says
  std::string host_name;
  std::string backend;  // of the default process group
  TimeOrigin time_origin = TimeOrigin::kUnknown;
  std::vector<std::string> files;

  bool operator==(const TraceInfo&) const = default;
};

/// The activity of one rank, recorded or predicted: tables of columns that share one set of
/// strings.
struct Trace {
  TraceInfo info;
  ProblemLog problems;
  StringTable strings;

  Metadata metadata;
  Devices devices;
  Tracks tracks;
  LaunchShapes launch_shapes;
  Activities activities;
  HostOps host_ops;
  RuntimeCalls runtime_calls;
  Annotations annotations;
  Steps steps;
  ProcessGroups process_groups;
  Collectives collectives;
  Syncs syncs;
  MemoryEvents memory_events;
  Counters counters;
  PythonCalls python_calls;
  Instants instants;
  OtherSlices other_slices;
  Flows flows;
  GraphNodes graph_nodes;
  MemoryObjects memory_objects;
  Observations observations;
  Touches touches;
  PageRuns page_runs;
  Accesses accesses;
  AccessLanes access_lanes;
  CoverageCounts coverage_counts;
  Overheads overheads;

  [[nodiscard]] std::string_view Text(StringId id) const { return strings.View(id); }

  bool operator==(const Trace&) const = default;
};

/// Calls `visit(name, table)` for each table, in the order of the members of Trace.
template <typename TraceType, typename Visit>
void ForEachTable(TraceType& trace, Visit&& visit) {
  visit("metadata", trace.metadata);
  visit("devices", trace.devices);
  visit("tracks", trace.tracks);
  visit("launch_shapes", trace.launch_shapes);
  visit("activities", trace.activities);
  visit("host_ops", trace.host_ops);
  visit("runtime_calls", trace.runtime_calls);
  visit("annotations", trace.annotations);
  visit("steps", trace.steps);
  visit("process_groups", trace.process_groups);
  visit("collectives", trace.collectives);
  visit("syncs", trace.syncs);
  visit("memory_events", trace.memory_events);
  visit("counters", trace.counters);
  visit("python_calls", trace.python_calls);
  visit("instants", trace.instants);
  visit("other_slices", trace.other_slices);
  visit("flows", trace.flows);
  visit("graph_nodes", trace.graph_nodes);
  visit("memory_objects", trace.memory_objects);
  visit("observations", trace.observations);
  visit("touches", trace.touches);
  visit("page_runs", trace.page_runs);
  visit("accesses", trace.accesses);
  visit("access_lanes", trace.access_lanes);
  visit("coverage_counts", trace.coverage_counts);
  visit("overheads", trace.overheads);
}

/// The time between the first begin and the last end of anything recorded.
struct Span {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;

  [[nodiscard]] std::int64_t duration_ns() const { return end_ns - begin_ns; }
};

/// Returns the span of host and device rows (profiler windows and metadata left out); empty traces
/// give {0, 0}.
Span RecordedSpan(const Trace& trace);

}  // namespace orrery::trace
