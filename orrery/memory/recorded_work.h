#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "orrery/trace/trace.h"

namespace orrery::memory {

/// Rows of a table by the activity that they belong to.
class RowsByActivity {
 public:
  RowsByActivity(std::span<const RowId> activity_of_row, std::size_t num_activities);

  /// Rows in the order of their table.
  [[nodiscard]] std::span<const RowId> Of(RowId activity) const {
    return std::span(rows_).subspan(first_[activity], first_[activity + 1] - first_[activity]);
  }

 private:
  std::vector<std::size_t> first_;
  std::vector<RowId> rows_;
};

/// One launch, copy or set and all that is known of what it did. The spans are rows of Touches,
/// PageRuns and Accesses, and live as long as their RecordedWork.
struct WorkItem {
  RowId activity = kNoRow;
  RowId observation = kNoRow;
  std::int64_t order = 0;
  trace::Coverage coverage = trace::Coverage::kUnseen;
  std::span<const RowId> touches = {};
  std::span<const RowId> page_runs = {};
  std::span<const RowId> accesses = {};
};

/// The device work of a trace in the order in which the host asked for it: the one way in which
/// memory tools walk through a recording. Traces of profilers that do not watch memory have their
/// activities in order of time, unseen, with their place as order. Preparing costs a pass over the
/// tables.
class RecordedWork {
 public:
  /// Keeps a reference to the trace.
  explicit RecordedWork(const trace::Trace& trace);

  [[nodiscard]] const trace::Trace& trace() const { return *trace_; }

  [[nodiscard]] std::size_t size() const {
    return HasObservations() ? trace_->observations.size() : trace_->activities.size();
  }

  [[nodiscard]] WorkItem At(std::size_t index) const;

  /// Calls `visit(item)` for all of them in order.
  template <typename Visit>
  void ForEach(Visit&& visit) const {
    for (std::size_t index = 0; index < size(); ++index) {
      visit(At(index));
    }
  }

  [[nodiscard]] bool IsKernel(const WorkItem& item) const {
    return item.activity != kNoRow &&
           trace_->activities.kind[item.activity] == trace::ActivityKind::kKernel;
  }

  /// The full name of the kernel, copy or set.
  [[nodiscard]] std::string_view NameOf(const WorkItem& item) const;

  [[nodiscard]] StringId NameIdOf(const WorkItem& item) const;

  /// The innermost operator of the framework that asked for it; empty if none is known.
  [[nodiscard]] std::string_view OperatorOf(const WorkItem& item) const;
  [[nodiscard]] StringId OperatorIdOf(const WorkItem& item) const;

  /// Its device, or -1.
  [[nodiscard]] std::int32_t DeviceOf(const WorkItem& item) const;

  /// Returns whether counts stand behind a touch; else it is only known what can be reached.
  [[nodiscard]] bool IsCounted(RowId touch) const {
    const trace::Coverage coverage = trace_->touches.coverage[touch];
    return coverage == trace::Coverage::kExact || coverage == trace::Coverage::kPartial;
  }

  /// Objects of the item's touches, each once, in order of row: those with counts, or those that
  /// are only known by argument or descriptor.
  [[nodiscard]] std::vector<RowId> CountedObjects(const WorkItem& item) const;
  [[nodiscard]] std::vector<RowId> ReachableObjects(const WorkItem& item) const;

 private:
  [[nodiscard]] bool HasObservations() const { return !trace_->observations.empty(); }

  [[nodiscard]] std::vector<RowId> Objects(const WorkItem& item, bool counted) const;

  const trace::Trace* trace_;
  RowsByActivity touches_;
  RowsByActivity page_runs_;
  RowsByActivity accesses_;
};

}  // namespace orrery::memory
