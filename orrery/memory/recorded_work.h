#pragma once

#include <bit>
#include <cstddef>
#include <span>

#include "orrery/trace/row_index.h"
#include "orrery/trace/trace.h"

namespace orrery::memory {

/// A kernel launch, memcpy or memset with its rows of Touches, PageRuns and Accesses; the spans are
/// valid as long as their RecordedWork.
struct WorkItem {
  RowId activity = kNoRow;
  std::int64_t order = 0;
  trace::Coverage coverage = trace::Coverage::kUnseen;
  std::span<const RowId> touches = {};
  std::span<const RowId> page_runs = {};
  std::span<const RowId> accesses = {};
};

/// The device work of a trace in launch order. Traces of profilers that do not observe memory
/// have their activities in order of time, unseen, numbered as `order`. Construction costs a pass
/// over the tables.
class RecordedWork {
 public:
  /// Keeps a reference to the trace.
  explicit RecordedWork(const trace::Trace& trace)
      : trace_(&trace),
        touches_(trace.touches.activity, trace.activities.size()),
        page_runs_(trace.page_runs.activity, trace.activities.size()),
        accesses_(trace.accesses.activity, trace.activities.size()) {}

  [[nodiscard]] const trace::Trace& trace() const { return *trace_; }

  [[nodiscard]] std::size_t size() const {
    return HasObservations() ? trace_->observations.size() : trace_->activities.size();
  }

  [[nodiscard]] WorkItem At(std::size_t index) const {
    const auto row = static_cast<RowId>(index);
    WorkItem item{.activity = row, .order = static_cast<std::int64_t>(row)};
    if (HasObservations()) {
      item.activity = trace_->observations.activity[row];
      item.order = trace_->observations.order[row];
      item.coverage = trace_->observations.coverage[row];
    }
    if (item.activity != kNoRow) {
      item.touches = touches_.Of(item.activity);
      item.page_runs = page_runs_.Of(item.activity);
      item.accesses = accesses_.Of(item.activity);
    }
    return item;
  }

  /// Calls `visit(item)` for each item in order.
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

  /// The full name of the kernel, memcpy or memset.
  [[nodiscard]] StringId NameIdOf(const WorkItem& item) const {
    return item.activity == kNoRow ? StringId::kEmpty : trace_->activities.name[item.activity];
  }

  [[nodiscard]] std::string_view NameOf(const WorkItem& item) const {
    return trace_->Text(NameIdOf(item));
  }

  /// The innermost framework operator that launched it; empty if unknown.
  [[nodiscard]] StringId OperatorIdOf(const WorkItem& item) const {
    const RowId op = item.activity == kNoRow ? kNoRow : trace_->activities.host_op[item.activity];
    return op == kNoRow ? StringId::kEmpty : trace_->host_ops.name[op];
  }

  /// Its device, or -1.
  [[nodiscard]] std::int32_t DeviceOf(const WorkItem& item) const {
    const RowId track = item.activity == kNoRow ? kNoRow : trace_->activities.track[item.activity];
    return track == kNoRow ? -1 : trace_->tracks.device[track];
  }

  /// Returns whether a touch has counts; otherwise it is an upper bound.
  [[nodiscard]] bool IsCounted(RowId touch) const {
    const trace::Coverage coverage = trace_->touches.coverage[touch];
    return coverage == trace::Coverage::kExact || coverage == trace::Coverage::kPartial;
  }

 private:
  [[nodiscard]] bool HasObservations() const { return !trace_->observations.empty(); }

  const trace::Trace* trace_;
  trace::RowsByTarget touches_;
  trace::RowsByTarget page_runs_;
  trace::RowsByTarget accesses_;
};

/// Calls `visit(address)` for each active lane of an access, lowest lane first.
template <typename Visit>
void ForEachLane(const trace::Trace& trace, RowId access, Visit&& visit) {
  const RowId first_lane = trace.accesses.first_lane[access];
  std::size_t next_listed = first_lane;
  for (std::uint64_t mask = trace.accesses.lane_mask[access]; mask != 0; mask &= mask - 1) {
    if (first_lane != kNoRow) {
      visit(trace.access_lanes.address[next_listed++]);
    } else {
      const auto lane = static_cast<std::uint64_t>(std::countr_zero(mask));
      visit(trace.accesses.address[access] +
            lane * static_cast<std::uint64_t>(trace.accesses.stride[access]));
    }
  }
}

}  // namespace orrery::memory
