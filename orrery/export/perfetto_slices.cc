#include <algorithm>
#include <functional>
#include <queue>
#include <string_view>
#include <tuple>
#include <vector>

#include "orrery/export/event_args.h"
#include "orrery/export/perfetto_rank.h"
#include "orrery/export/row_lists.h"
#include "orrery/export/slice_names.h"

namespace orrery::exporting::perfetto {
namespace {

using trace::kNoRow;
using trace::RowId;
using trace::Trace;

// Indices of the slices in order of begin, ties longer first: parents before children.
std::vector<std::uint32_t> InTimeOrder(std::span<const PlacedSlice> slices) {
  std::vector<std::uint32_t> order(slices.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  // The slices of a track are in order already, which the last key keeps.
  std::sort(order.begin(), order.end(), [&](std::uint32_t lhs, std::uint32_t rhs) {
    const PlacedSlice& a = slices[lhs];
    const PlacedSlice& b = slices[rhs];
    return std::tie(a.begin_ns, b.end_ns, lhs) < std::tie(b.begin_ns, a.end_ns, rhs);
  });
  return order;
}

// A slice that was begun and not yet ended; of equal ends the one that was begun last comes first.
struct OpenSlice {
  std::int64_t end_ns;
  std::uint32_t position;  // in time order
  std::uint64_t track;

  friend bool operator>(const OpenSlice& lhs, const OpenSlice& rhs) {
    return std::tie(lhs.end_ns, rhs.position) > std::tie(rhs.end_ns, lhs.position);
  }
};

class SliceWriter {
 public:
  SliceWriter(const Rank& rank, Sequence& sequence)
      : rank_(rank), sequence_(sequence), names_(rank.trace),
        launched_(rank.trace.runtime_calls.size(), rank.trace.activities.launch),
        backward_(rank.trace.host_ops.size(), rank.trace.host_ops.forward_op) {}

  void Write() {
    const std::span<const PlacedSlice> slices = rank_.layout.slices;
    const std::vector<std::uint32_t> order = InTimeOrder(slices);
    for (std::uint32_t position = 0; position < order.size(); ++position) {
      const PlacedSlice& slice = slices[order[position]];
      EndUntil(slice.begin_ns);
      Begin(slice);
      open_.push({slice.end_ns, position, rank_.tracks.Lane(slice.track, slice.lane)});
    }
    EndUntil(std::numeric_limits<std::int64_t>::max());
  }

 private:
  [[nodiscard]] std::uint64_t Stamp(std::int64_t at_ns) const {
    return static_cast<std::uint64_t>(at_ns - rank_.zero_ns);
  }

  void EndUntil(std::int64_t until_ns) {
    while (!open_.empty() && open_.top().end_ns <= until_ns) {
      sequence_.Start(event::kSliceEnd, open_.top().track);
      sequence_.Write(Stamp(open_.top().end_ns));
      open_.pop();
    }
  }

  void Begin(const PlacedSlice& slice) {
    sequence_.Start(event::kSliceBegin, rank_.tracks.Lane(slice.track, slice.lane));
    sequence_.Category(names_.Category(slice));
    if (slice.kind == SliceKind::kWait) {
      sequence_.Name("wait");
    } else {
      sequence_.Name(names_.Name(slice));
      VisitSliceArgs(slice);
      AddFlows(slice);
    }
    sequence_.Write(Stamp(slice.begin_ns));
  }

  void VisitSliceArgs(const PlacedSlice& slice) {
    const Trace& trace = rank_.trace;
    switch (slice.kind) {
      case SliceKind::kActivity:
        return VisitActivityArgs(trace, slice.row, sequence_);
      case SliceKind::kHostOp:
        return VisitHostOpArgs(trace, slice.row, names_.CollectiveOfOp(slice.row), sequence_);
      case SliceKind::kRuntimeCall:
        return VisitRuntimeCallArgs(trace, slice.row, sequence_);
      case SliceKind::kAnnotation:
        return VisitAnnotationArgs(trace, slice.row, sequence_);
      case SliceKind::kPythonCall:
        return VisitPythonCallArgs(trace, slice.row, sequence_);
      case SliceKind::kSync:
        return VisitSyncArgs(trace, slice.row, sequence_);
      case SliceKind::kStep:
      case SliceKind::kOther:
      case SliceKind::kWait:
        return;
    }
  }

  void AddFlows(const PlacedSlice& slice) {
    if (slice.kind == SliceKind::kRuntimeCall) {
      StartFlows(launched_.RowsOf(slice.row), FlowUse::kLaunch);
    }
    if (slice.kind == SliceKind::kActivity &&
        rank_.trace.activities.launch[slice.row] != kNoRow) {
      sequence_.TerminatingFlow(FlowId(rank_, FlowUse::kLaunch, slice.row));
    }
    if (slice.kind == SliceKind::kHostOp) {
      StartFlows(backward_.RowsOf(slice.row), FlowUse::kBackward);
      if (rank_.trace.host_ops.forward_op[slice.row] != kNoRow) {
        sequence_.TerminatingFlow(FlowId(rank_, FlowUse::kBackward, slice.row));
      }
    }
  }

  void StartFlows(std::span<const RowId> targets, FlowUse use) {
    flow_ids_.clear();
    for (const RowId target : targets) {
      flow_ids_.push_back(FlowId(rank_, use, target));
    }
    sequence_.Flows(flow_ids_);
  }

  const Rank& rank_;
  Sequence& sequence_;
  SliceNames names_;
  RowLists launched_;  // by runtime call: activities
  RowLists backward_;  // by operator: its backward operators
  std::vector<std::uint64_t> flow_ids_;
  std::priority_queue<OpenSlice, std::vector<OpenSlice>, std::greater<>> open_;
};

}  // namespace

void WriteSlices(const Rank& rank, Sequence& sequence) { SliceWriter(rank, sequence).Write(); }

}  // namespace orrery::exporting::perfetto
