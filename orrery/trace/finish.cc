#include "orrery/trace/finish.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <vector>

#include <tsl/robin_map.h>

#include "orrery/base/columns.h"
#include "orrery/base/text/text.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/row_index.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

namespace orrery::trace {
namespace {

// Files with whole microseconds round begin and end separately, so a child may seem to end this
// much after its parent.
constexpr std::int64_t kOverhangNs = 1'000;

enum class SliceKind { kAnnotation, kOperator, kCall };

// A slice that is still open on its thread, with the innermost slice of each kind around its
// inside.
struct OpenSlice {
  std::int64_t end_ns = 0;
  RowId annotation = kNoRow;
  RowId op = kNoRow;
  RowId call = kNoRow;
};

// One thread's open slices, innermost last.
class ThreadStack {
 public:
  // Opens a slice and returns what is around it.
  OpenSlice Open(std::int64_t begin_ns, std::int64_t end_ns, SliceKind kind, RowId row,
                 std::int64_t& overlaps) {
    while (!open_.empty() && open_.back().end_ns <= begin_ns) {
      open_.pop_back();
    }
    OpenSlice around;
    for (const OpenSlice& slice : std::views::reverse(open_)) {
      if (slice.end_ns + kOverhangNs >= end_ns) {
        around = slice;
        break;
      }
      ++overlaps;
    }
    OpenSlice inside = around;
    inside.end_ns = end_ns;
    (kind == SliceKind::kAnnotation ? inside.annotation
     : kind == SliceKind::kOperator ? inside.op
                                    : inside.call) = row;
    open_.push_back(inside);
    return around;
  }

 private:
  std::vector<OpenSlice> open_;
};

// Walks several sorted tables as one, in order of begin time, longer slices first.
class MergedRows {
 public:
  template <typename... Tables>
  explicit MergedRows(const Tables&... tables)
      : begin_{std::span<const std::int64_t>(tables.begin_ns)...},
        duration_{std::span<const std::int64_t>(tables.duration_ns)...} {}

  // Returns the table that has the next row; kNone at the end.
  [[nodiscard]] std::size_t Next() const {
    std::size_t best = kNone;
    for (std::size_t table = 0; table < begin_.size(); ++table) {
      if (row_[table] < begin_[table].size() && (best == kNone || IsBefore(table, best))) {
        best = table;
      }
    }
    return best;
  }

  RowId Take(std::size_t table) { return row_[table]++; }

  static constexpr std::size_t kNone = 3;

 private:
  [[nodiscard]] bool IsBefore(std::size_t lhs, std::size_t rhs) const {
    const std::int64_t lhs_begin = begin_[lhs][row_[lhs]];
    const std::int64_t rhs_begin = begin_[rhs][row_[rhs]];
    return lhs_begin != rhs_begin ? lhs_begin < rhs_begin
                                  : duration_[lhs][row_[lhs]] > duration_[rhs][row_[rhs]];
  }

  std::array<std::span<const std::int64_t>, 3> begin_;
  std::array<std::span<const std::int64_t>, 3> duration_;
  std::array<RowId, 3> row_{};
};

// Nests operators, annotations and runtime calls of each thread by time: `parent`, `annotation`,
// and the operator around each runtime call. Counts slices that overlap without nesting.
class Nester {
 public:
  explicit Nester(Trace& trace) : trace_(trace), threads_(trace.tracks.size() + 1) {}

  void Run() {
    MergedRows rows(trace_.annotations, trace_.host_ops, trace_.runtime_calls);
    for (std::size_t table = rows.Next(); table != MergedRows::kNone; table = rows.Next()) {
      const RowId row = rows.Take(table);
      if (table == 0) {
        PlaceAnnotation(row);
      } else if (table == 1) {
        PlaceOperator(row);
      } else {
        PlaceCall(row);
      }
    }
    trace_.problems.Note("overlapping slices on one thread", overlaps_);
  }

 private:
  template <typename Table>
  OpenSlice Open(const Table& table, RowId row, SliceKind kind) {
    const std::int64_t begin_ns = table.begin_ns[row];
    const RowId track = table.track[row];
    ThreadStack& thread = threads_[track == kNoRow ? trace_.tracks.size() : track];
    return thread.Open(begin_ns, begin_ns + table.duration_ns[row], kind, row, overlaps_);
  }

  void PlaceAnnotation(RowId row) {
    // Ranges on the device are drawn over kernels of any launch: they nest with nothing.
    if (trace_.annotations.kind[row] == AnnotationKind::kHost) {
      trace_.annotations.parent[row] =
          Open(trace_.annotations, row, SliceKind::kAnnotation).annotation;
    }
  }

  void PlaceOperator(RowId row) {
    const OpenSlice around = Open(trace_.host_ops, row, SliceKind::kOperator);
    trace_.host_ops.parent[row] = around.op;
    trace_.host_ops.annotation[row] = around.annotation;
  }

  void PlaceCall(RowId row) {
    const OpenSlice around = Open(trace_.runtime_calls, row, SliceKind::kCall);
    trace_.runtime_calls.parent[row] = around.call;
    trace_.runtime_calls.host_op[row] = around.op;
  }

  Trace& trace_;
  std::vector<ThreadStack> threads_;
  std::int64_t overlaps_ = 0;
};

// Host and device clocks are matched by the profiler to within this much.
constexpr std::int64_t kClockSkewNs = 100'000;

// The external id of a device row carries no operator where it repeats the correlation id, as
// files of 2023 do.
bool ExternalIdsNameOperators(const Trace& trace) {
  std::int64_t different = 0;
  std::int64_t equal = 0;
  const auto count = [&](std::int64_t external_id, std::int64_t correlation) {
    if (external_id >= 0 && correlation >= 0) {
      ++(external_id == correlation ? equal : different);
    }
  };
  for (RowId row = 0; row < trace.activities.size(); ++row) {
    count(trace.activities.external_id[row], trace.activities.correlation[row]);
  }
  for (RowId row = 0; row < trace.runtime_calls.size(); ++row) {
    count(trace.runtime_calls.external_id[row], trace.runtime_calls.correlation[row]);
  }
  return equal == 0 || different > equal;
}

// The call that launched an activity: among calls with its correlation the outermost; where the id
// was used again, the latest that had begun.
class LaunchFinder {
 public:
  explicit LaunchFinder(const RuntimeCalls& calls) : calls_(calls), index_(calls.correlation) {}

  [[nodiscard]] RowId Find(std::int64_t correlation, std::int64_t begin_ns) const {
    if (correlation < 0) {
      return kNoRow;
    }
    RowId best = index_.First(correlation);
    for (RowId row = best; row != kNoRow; row = index_.Next(row)) {
      const bool is_inner = row != best && End(row) <= End(best);
      if (!is_inner && calls_.begin_ns[row] <= begin_ns + kClockSkewNs) {
        best = row;
      }
    }
    return best;
  }

  // Counts calls whose id an earlier, finished call already had.
  [[nodiscard]] std::int64_t CountReused() const {
    std::int64_t reused = 0;
    for (RowId row = 0; row < calls_.size(); ++row) {
      const RowId next = calls_.correlation[row] < 0 ? kNoRow : index_.Next(row);
      reused += next != kNoRow && calls_.begin_ns[next] >= End(row) ? 1 : 0;
    }
    return reused;
  }

 private:
  [[nodiscard]] std::int64_t End(RowId row) const {
    return calls_.begin_ns[row] + calls_.duration_ns[row];
  }

  const RuntimeCalls& calls_;
  RowIndex index_;
};

std::int64_t CountLaunchesWithoutWork(const Trace& trace) {
  std::vector<bool> has_work(trace.runtime_calls.size(), false);
  for (const RowId launch : trace.activities.launch) {
    if (launch != kNoRow) {
      has_work[launch] = true;
    }
  }
  PerName is_launch(trace, [](std::string_view name) { return Contains(name, "LaunchKernel"); });
  std::int64_t idle = 0;
  for (RowId row = 0; row < trace.runtime_calls.size(); ++row) {
    const RowId parent = trace.runtime_calls.parent[row];
    idle += is_launch(trace.runtime_calls.name[row]) && !has_work[row] &&
                    (parent == kNoRow || !has_work[parent])
                ? 1
                : 0;
  }
  return idle;
}

void LinkPythonCallers(Trace& trace) {
  PythonCalls& calls = trace.python_calls;
  const RowIndex by_id(calls.python_id);
  for (RowId row = 0; row < calls.size(); ++row) {
    const std::int32_t parent_id = calls.python_parent_id[row];
    calls.parent[row] = parent_id < 0 ? kNoRow : by_id.First(parent_id);
  }
}

void LinkDeviceAnnotations(Trace& trace) {
  Annotations& annotations = trace.annotations;
  const RowIndex by_id(annotations.external_id);
  for (RowId row = 0; row < annotations.size(); ++row) {
    if (annotations.kind[row] != AnnotationKind::kDevice || annotations.external_id[row] < 0) {
      continue;
    }
    RowId host = by_id.First(annotations.external_id[row]);
    while (host != kNoRow && annotations.kind[host] != AnnotationKind::kHost) {
      host = by_id.Next(host);
    }
    annotations.host[row] = host;
  }
}

// Links runtime calls to operators by external id, where the file's external ids name operators.
void LinkCallsToOperators(Trace& trace) {
  if (!ExternalIdsNameOperators(trace)) {
    return;
  }
  const RowIndex by_id(trace.host_ops.external_id);
  RuntimeCalls& calls = trace.runtime_calls;
  for (RowId row = 0; row < calls.size(); ++row) {
    if (calls.external_id[row] >= 0) {
      const RowId op = by_id.First(calls.external_id[row]);
      if (op != kNoRow) {
        calls.host_op[row] = op;
      }
    }
  }
}

// Links activities to the call that launched them, by correlation, and so to their operator. A
// graph launch has many activities; a reused id belongs to the nearest call before.
void LinkLaunches(Trace& trace) {
  Activities& activities = trace.activities;
  const LaunchFinder finder(trace.runtime_calls);
  const RowIndex op_by_id(trace.host_ops.external_id);
  const bool ids_name_operators = ExternalIdsNameOperators(trace);
  std::int64_t without_launch = 0;
  std::int64_t before_launch = 0;
  for (RowId row = 0; row < activities.size(); ++row) {
    const RowId launch = finder.Find(activities.correlation[row], activities.begin_ns[row]);
    activities.launch[row] = launch;
    if (launch != kNoRow) {
      activities.host_op[row] = trace.runtime_calls.host_op[launch];
      before_launch += activities.begin_ns[row] < trace.runtime_calls.begin_ns[launch] ? 1 : 0;
    } else {
      ++without_launch;
    }
    if (activities.host_op[row] == kNoRow && ids_name_operators &&
        activities.external_id[row] >= 0) {
      activities.host_op[row] = op_by_id.First(activities.external_id[row]);
    }
  }
  // A recording of GPU work alone has lost no launch.
  if (!trace.runtime_calls.empty()) {
    trace.problems.Note("GPU activity without a launch in the recording", without_launch);
  }
  trace.problems.Note("GPU activity that begins before its launch", before_launch);
  trace.problems.Note("correlation id used again", finder.CountReused());
  if (!activities.empty()) {
    trace.problems.Note("kernel launch without GPU activity in the recording",
                        CountLaunchesWithoutWork(trace));
  }
}

// Links synchronisation rows to their call, device annotations to their host range, and Python
// calls to their caller.
void LinkByIds(Trace& trace) {
  const LaunchFinder finder(trace.runtime_calls);
  for (RowId row = 0; row < trace.syncs.size(); ++row) {
    trace.syncs.call[row] = finder.Find(trace.syncs.correlation[row], trace.syncs.begin_ns[row]);
  }
  LinkDeviceAnnotations(trace);
  LinkPythonCallers(trace);
}

// Links backward operators to their forward operator by sequence number, where no link is set yet.
void LinkForwardOperators(Trace& trace) {
  HostOps& ops = trace.host_ops;
  tsl::robin_map<std::int64_t, RowId> latest_forward;
  for (RowId row = 0; row < ops.size(); ++row) {
    if (ops.sequence[row] < 0) {
      continue;
    }
    if (ops.forward_thread[row] <= 0) {
      latest_forward[ops.sequence[row]] = row;
    } else if (ops.forward_op[row] == kNoRow) {
      const auto found = latest_forward.find(ops.sequence[row]);
      ops.forward_op[row] = found == latest_forward.end() ? kNoRow : found->second;
    }
  }
}

// Sizes that no memory has would make sums wrap around.
void DropImpossibleSizes(Trace& trace) {
  constexpr std::int64_t kMostBytes = std::int64_t{1} << 44;  // 16 TiB
  std::int64_t dropped = 0;
  const auto drop = [&](std::vector<std::int64_t>& sizes) {
    for (std::int64_t& size : sizes) {
      dropped += size > kMostBytes ? 1 : 0;
      size = size > kMostBytes ? -1 : size;
    }
  };
  Collectives& collectives = trace.collectives;
  drop(trace.activities.bytes);
  for (auto* const sizes : {&collectives.in_elements, &collectives.out_elements,
                            &collectives.in_bytes, &collectives.out_bytes}) {
    drop(*sizes);
  }
  if (dropped > 0) {
    trace.problems.Loss("size above 16 TiB, which no memory has, taken as unknown", dropped);
  }
}

}  // namespace

void FinishTrace(Trace& trace, const FinishOptions& options) {
  DropImpossibleSizes(trace);
  SortRows(trace);
  Nester(trace).Run();
  LinkCallsToOperators(trace);
  LinkLaunches(trace);
  LinkByIds(trace);
  LinkForwardOperators(trace);
  FindSteps(trace, options.step_marker);
}

}  // namespace orrery::trace
