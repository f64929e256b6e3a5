#pragma once

#include <string>
#include <string_view>
#include <vector>

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

/// The tables of a Trace, in order.
#define ORRERY_TRACE_TABLES(X)       \
  X(Metadata, metadata)              \
  X(Devices, devices)                \
  X(Tracks, tracks)                  \
  X(LaunchShapes, launch_shapes)     \
  X(Activities, activities)          \
  X(HostOps, host_ops)               \
  X(RuntimeCalls, runtime_calls)     \
  X(Annotations, annotations)        \
  X(Steps, steps)                    \
  X(ProcessGroups, process_groups)   \
  X(Collectives, collectives)        \
  X(Syncs, syncs)                    \
  X(MemoryEvents, memory_events)     \
  X(Counters, counters)              \
  X(PythonCalls, python_calls)       \
  X(Instants, instants)              \
  X(OtherSlices, other_slices)       \
  X(Flows, flows)                    \
  X(GraphNodes, graph_nodes)         \
  X(MemoryObjects, memory_objects)   \
  X(Observations, observations)      \
  X(Touches, touches)                \
  X(PageRuns, page_runs)             \
  X(Accesses, accesses)              \
  X(AccessLanes, access_lanes)       \
  X(CoverageCounts, coverage_counts) \
  X(Overheads, overheads)

/// The activity of one rank, recorded or predicted: tables of columns that share one set of
/// strings.
struct Trace {
  TraceInfo info;
  ProblemLog problems;
  StringTable strings;

#define ORRERY_TRACE_MEMBER(Table, name) Table name;
  ORRERY_TRACE_TABLES(ORRERY_TRACE_MEMBER)
#undef ORRERY_TRACE_MEMBER

  [[nodiscard]] std::string_view Text(StringId id) const { return strings.View(id); }

  bool operator==(const Trace&) const = default;
};

/// Calls `visit(name, table)` for each table, in the order of the members of Trace.
template <typename TraceType, typename Visit>
void ForEachTable(TraceType& trace, Visit&& visit) {
#define ORRERY_TRACE_VISIT(Table, name) visit(#name, trace.name);
  ORRERY_TRACE_TABLES(ORRERY_TRACE_VISIT)
#undef ORRERY_TRACE_VISIT
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

struct NamedCount {
  std::string_view name;  // as in the JSON of `orrery info`
  std::int64_t count = 0;
};

/// The number of rows of each kind of a rank, the most important first. Operators of an
/// execution trace without Kineto rows are its operator nodes. Collectives are those that ran on
/// the device; where none did (no device, or no peers) they are the calls.
[[nodiscard]] std::vector<NamedCount> CountRows(const Trace& trace);

/// The name of the device that the rank worked on, or of all of them; empty if unknown.
[[nodiscard]] std::string DeviceName(const Trace& trace);

}  // namespace orrery::trace
