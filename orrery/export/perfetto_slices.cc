#include <algorithm>
#include <span>
#include <tuple>
#include <vector>

#include "orrery/export/perfetto_rank.h"
#include "orrery/export/row_lists.h"
#include "orrery/export/slice_args.h"
#include "orrery/export/slice_edges.h"
#include "orrery/export/slice_names.h"

namespace orrery::exporting::perfetto {
namespace {


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

class SliceWriter {
 public:
  SliceWriter(const Rank& rank, Sequence& sequence)
      : rank_(rank),
        sequence_(sequence),
        names_(rank.trace),
        launched_(rank.trace.runtime_calls.size(), rank.trace.activities.launch),
        backward_(rank.trace.host_ops.size(), rank.trace.host_ops.forward_op) {}

  void Write() {
    const std::span<const PlacedSlice> slices = rank_.layout.slices;
    const std::vector<std::uint32_t> order = InTimeOrder(slices);
    std::vector<TimedSlice> times;
    times.reserve(order.size());
    for (const std::uint32_t slice : order) {
      times.push_back({slices[slice].begin_ns, slices[slice].end_ns});
    }
    WalkEdges(
        times, [&](std::size_t i) { Begin(slices[order[i]]); },
        [&](std::size_t i) { End(slices[order[i]]); });
  }

 private:
  [[nodiscard]] std::uint64_t Stamp(std::int64_t at_ns) const {
    return static_cast<std::uint64_t>(at_ns - rank_.zero_ns);
  }

  [[nodiscard]] std::uint64_t TrackOf(const PlacedSlice& slice) const {
    return rank_.tracks.Lane(slice.track, slice.lane);
  }

  void End(const PlacedSlice& slice) {
    sequence_.Start(event::kSliceEnd, TrackOf(slice));
    sequence_.Write(Stamp(slice.end_ns));
  }

  void Begin(const PlacedSlice& slice) {
    sequence_.Start(event::kSliceBegin, TrackOf(slice));
    sequence_.Category(names_.Category(slice));
    if (slice.kind == SliceKind::kWait) {
      sequence_.Name("wait");
    } else {
      sequence_.Name(names_.Name(slice));
    }
    VisitSliceArgs(rank_.trace, names_, slice, sequence_);
    AddFlows(slice);
    sequence_.Write(Stamp(slice.begin_ns));
  }

  void AddFlows(const PlacedSlice& slice) {
    if (slice.kind == SliceKind::kRuntimeCall) {
      StartFlows(launched_.RowsOf(slice.row), FlowUse::kLaunch);
    }
    if (slice.kind == SliceKind::kActivity && rank_.trace.activities.launch[slice.row] != kNoRow) {
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
};

}  // namespace

void WriteSlices(const Rank& rank, Sequence& sequence) {
  SliceWriter(rank, sequence).Write();
}

}  // namespace orrery::exporting::perfetto
