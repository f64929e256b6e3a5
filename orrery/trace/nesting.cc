#include <array>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <vector>

#include "orrery/base/columns.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/links.h"
#include "orrery/trace/trace.h"

namespace orrery::trace {
namespace {

// Files with whole microseconds round begin and end apart, so a child may seem to end this much
// after its parent.
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

  // Which table has the next row; kNone at the end.
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

}  // namespace

void LinkNesting(Trace& trace) {
  Nester(trace).Run();
}

}  // namespace orrery::trace
