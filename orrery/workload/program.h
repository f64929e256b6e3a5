#pragma once

#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

#include "orrery/base/string_table.h"
#include "orrery/trace/columns.h"

namespace orrery::workload {

using trace::RowId;
using TaskId = RowId;
using LaneId = RowId;
using CallId = RowId;

inline constexpr RowId kNone = trace::kNoRow;

// Stored by number in results: append at the end, never reorder.

enum class LaneKind : std::uint8_t { kHostThread, kStream };

enum class TaskKind : std::uint8_t {
  kHost,         // the host works
  kLaunch,       // the host hands work to a stream
  kKernel,       // a kernel, a copy or a set on a stream
  kRecord,       // a stream passes an event; takes no time
  kWait,         // a stream waits for an event; takes no time itself
  kSynchronize,  // the host waits; what follows its predecessors is its own cost
  kCollective,   // work of several ranks on a stream
};

/// What runs its tasks one after the other: a host thread or a stream.
#define ORRERY_PROGRAM_LANE_COLUMNS(X)     \
  X(LaneKind, kind, LaneKind::kHostThread) \
  X(std::int64_t, number, 0)               \
  X(std::int64_t, gap_ps, 0) /* the least time between the end of a task and the next begin */
ORRERY_TRACE_TABLE(Lanes, ORRERY_PROGRAM_LANE_COLUMNS);

/// Operators and annotations that tasks belong to, in order of begin on their lane.
#define ORRERY_PROGRAM_CALL_COLUMNS(X) \
  X(StringId, name, StringId::kEmpty)  \
  X(LaneId, lane, kNone)               \
  X(CallId, parent, kNone)             \
  X(std::uint8_t, is_annotation, 0)    \
  X(TaskId, first_task, kNone)         \
  X(TaskId, last_task, kNone)
ORRERY_TRACE_TABLE(Calls, ORRERY_PROGRAM_CALL_COLUMNS);

/// Tasks; those of one lane run in order of their ids.
#define ORRERY_PROGRAM_TASK_COLUMNS(X) \
  X(LaneId, lane, kNone)               \
  X(TaskKind, kind, TaskKind::kHost)   \
  X(std::int64_t, duration_ps, 0)      \
  X(StringId, name, StringId::kEmpty)  \
  X(CallId, call, kNone)               \
  X(TaskId, launch, kNone) /* of a kernel: the task that hands it over */
ORRERY_TRACE_TABLE(Tasks, ORRERY_PROGRAM_TASK_COLUMNS);

/// `to` begins no earlier than `lag_ps` after the end of `from`.
#define ORRERY_PROGRAM_EDGE_COLUMNS(X) \
  X(TaskId, from, kNone)               \
  X(TaskId, to, kNone)                 \
  X(std::int64_t, lag_ps, 0)
ORRERY_TRACE_TABLE(Edges, ORRERY_PROGRAM_EDGE_COLUMNS);

/// What one rank executes in one step: lanes of tasks with dependencies. Times are integer
/// picoseconds. Columns, so that millions of tasks fit and are walked quickly.
struct Program {
  StringTable strings;
  Lanes lanes;
  Calls calls;
  Tasks tasks;
  Edges edges;
  std::int64_t launch_latency_ps = 0;  // from the end of a launch to the first begin of its kernel

  bool operator==(const Program&) const = default;
};

/// The edges of a program, grouped by the task they come from: those of task t are
/// `targets[offsets[t]] … targets[offsets[t + 1] - 1]`, in order of their ids. Hand-overs from a
/// launch to its kernel are among them.
struct Successors {
  std::vector<std::uint32_t> offsets;
  std::vector<TaskId> targets;
  std::vector<std::int64_t> lags_ps;
};

[[nodiscard]] Successors SuccessorsOf(const Program& program);

}  // namespace orrery::workload
