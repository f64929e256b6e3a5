#include "orrery/export/rank_layout.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

namespace orrery::exporting {
namespace {

using trace::Trace;
using trace::TrackKind;

// For each activity how long its head waits, in ns; empty when none does.
using KernelWaits = std::vector<std::int64_t>;

template <typename Table>
PlacedSlice SliceOf(const Table& table, RowId row, RowId track, SliceKind kind) {
  const std::int64_t begin = table.begin_ns[row];
  return {.begin_ns = begin,
          .end_ns = begin + std::max<std::int64_t>(table.duration_ns[row], 0),
          .row = row,
          .track = track,
          .kind = kind};
}

template <typename Table>
void AddSlices(const Trace& trace, const Table& table, SliceKind kind,
               std::vector<PlacedSlice>& slices) {
  const DrawnTracks tracks(trace);
  for (RowId row = 0; row < table.size(); ++row) {
    slices.push_back(SliceOf(table, row, tracks.Of(table.track[row]), kind));
  }
}

void AddSteps(const Trace& trace, std::vector<PlacedSlice>& slices) {
  const DrawnTracks tracks(trace);
  for (RowId row = 0; row < trace.steps.size(); ++row) {
    if (trace.steps.annotation[row] == kNoRow) {
      slices.push_back(SliceOf(trace.steps, row, tracks.steps, SliceKind::kStep));
    }
  }
}

std::vector<PlacedSlice> CollectSlices(const Trace& trace) {
  std::vector<PlacedSlice> slices;
  AddSlices(trace, trace.other_slices, SliceKind::kOther, slices);
  AddSteps(trace, slices);
  AddSlices(trace, trace.annotations, SliceKind::kAnnotation, slices);
  AddSlices(trace, trace.python_calls, SliceKind::kPythonCall, slices);
  AddSlices(trace, trace.host_ops, SliceKind::kHostOp, slices);
  AddSlices(trace, trace.runtime_calls, SliceKind::kRuntimeCall, slices);
  AddSlices(trace, trace.activities, SliceKind::kActivity, slices);
  AddSlices(trace, trace.syncs, SliceKind::kSync, slices);
  return slices;
}

bool ComesFirst(const PlacedSlice& lhs, const PlacedSlice& rhs) {
  return std::tie(lhs.track, lhs.begin_ns, rhs.end_ns, lhs.kind, lhs.row) <
         std::tie(rhs.track, rhs.begin_ns, lhs.end_ns, rhs.kind, rhs.row);
}

// Inserts each wait after its kernel.
std::vector<PlacedSlice> InsertWaits(std::vector<PlacedSlice> slices, const KernelWaits& waits) {
  if (waits.empty()) {
    return slices;
  }
  std::vector<PlacedSlice> result;
  result.reserve(slices.size());
  for (const PlacedSlice& slice : slices) {
    result.push_back(slice);
    if (slice.kind == SliceKind::kActivity && waits[slice.row] > 0) {
      result.push_back(slice);
      result.back().kind = SliceKind::kWait;
      result.back().end_ns = slice.begin_ns + waits[slice.row];
    }
  }
  return result;
}

// The layer of a slice where a track does not nest: device work stays on the first lane of streams,
// operators and calls on that of threads.
std::uint8_t LayerOf(SliceKind kind, bool on_device) {
  switch (kind) {
    case SliceKind::kActivity:
    case SliceKind::kWait:
    case SliceKind::kHostOp:
    case SliceKind::kRuntimeCall:
    case SliceKind::kStep:
      return 0;
    case SliceKind::kAnnotation:
      return on_device ? 1 : 0;
    case SliceKind::kPythonCall:
      return 1;
    case SliceKind::kSync:
    case SliceKind::kOther:
      return 2;
  }
  return 2;
}

void LayOutTrack(std::span<PlacedSlice> slices, bool on_device) {
  std::vector<LayoutSlice> shapes;
  shapes.reserve(slices.size());
  for (const PlacedSlice& slice : slices) {
    shapes.push_back({slice.begin_ns, slice.end_ns, LayerOf(slice.kind, on_device),
                      slice.kind == SliceKind::kWait});
  }
  const std::vector<Lane> lanes = LayOutSlices(shapes);
  for (std::size_t i = 0; i < slices.size(); ++i) {
    slices[i].lane = lanes[i];
  }
}

void LayOutTracks(const Trace& trace, std::span<PlacedSlice> slices) {
  while (!slices.empty()) {
    const RowId track = slices.front().track;
    const auto end = std::partition_point(slices.begin(), slices.end(),
                                          [&](const PlacedSlice& s) { return s.track == track; });
    const auto count = static_cast<std::size_t>(end - slices.begin());
    const bool on_device =
        track < trace.tracks.size() && trace.tracks.kind[track] == TrackKind::kDevice;
    LayOutTrack(slices.first(count), on_device);
    slices = slices.subspan(count);
  }
}

std::array<std::size_t, kNumSliceKinds> TableSizes(const Trace& trace) {
  // In the order of SliceKind; waits are numbered by activity.
  return {trace.steps.size(),        trace.other_slices.size(), trace.annotations.size(),
          trace.python_calls.size(), trace.host_ops.size(),     trace.runtime_calls.size(),
          trace.activities.size(),   trace.syncs.size(),        trace.activities.size()};
}

void IndexSlices(const Trace& trace, RankLayout& layout) {
  layout.num_lanes.assign(DrawnTracks(trace).count, 1);
  const auto sizes = TableSizes(trace);
  for (std::size_t kind = 0; kind < kNumSliceKinds; ++kind) {
    layout.slice_of_row[kind].assign(sizes[kind], RankLayout::kNotDrawn);
  }
  for (std::uint32_t i = 0; i < layout.slices.size(); ++i) {
    const PlacedSlice& slice = layout.slices[i];
    layout.slice_of_row[static_cast<std::size_t>(slice.kind)][slice.row] = i;
    Lane& num_lanes = layout.num_lanes[slice.track];
    num_lanes = std::max(num_lanes, static_cast<Lane>(slice.lane + 1));
  }
}

// A collective may have several kernels: each waits for the part of the wait that it covers.
KernelWaits KernelWaitsOf(const Trace& trace, std::span<const CollectiveWait> waits) {
  KernelWaits result;
  if (waits.empty()) {
    return result;
  }
  std::vector<std::int64_t> wait_until(trace.collectives.size(),
                                       std::numeric_limits<std::int64_t>::min());
  for (const CollectiveWait& wait : waits) {
    wait_until[wait.collective] = wait.until_ns;
  }
  result.assign(trace.activities.size(), 0);
  for (RowId row = 0; row < result.size(); ++row) {
    const RowId collective = trace.activities.collective[row];
    const std::int64_t begin = trace.activities.begin_ns[row];
    if (collective < wait_until.size() && wait_until[collective] > begin) {
      result[row] = std::min(wait_until[collective] - begin, trace.activities.duration_ns[row]);
    }
  }
  return result;
}

bool HasRowsWithoutTrack(const Trace& trace) {
  bool found = false;
  trace::ForEachTable(trace, [&]<typename Table>(const char*, const Table& table) {
    // A collective is drawn as its kernels.
    if constexpr (requires { table.track; } && !std::is_same_v<Table, trace::Collectives>) {
      found =
          found || std::find(table.track.begin(), table.track.end(), kNoRow) != table.track.end();
    }
  });
  return found;
}

bool HasSteps(std::span<const PlacedSlice> slices) {
  return std::any_of(slices.begin(), slices.end(),
                     [](const PlacedSlice& slice) { return slice.kind == SliceKind::kStep; });
}

}  // namespace

std::vector<std::vector<CollectiveWait>> WaitsByRank(std::size_t num_ranks,
                                                     std::span<const CollectiveSpan> collectives) {
  std::vector<std::vector<CollectiveWait>> waits(num_ranks);
  for (const CollectiveSpan& span : collectives) {
    for (const CollectiveMember& member : span.members) {
      if (member.wait_ns > 0 && member.collective != kNoRow) {
        waits[member.rank_index].push_back({member.collective, member.begin_ns + member.wait_ns});
      }
    }
  }
  return waits;
}

RankLayout LayOutRank(const Trace& trace, std::span<const CollectiveWait> waits) {
  RankLayout layout;
  layout.slices = CollectSlices(trace);
  std::sort(layout.slices.begin(), layout.slices.end(), ComesFirst);
  layout.slices = InsertWaits(std::move(layout.slices), KernelWaitsOf(trace, waits));
  LayOutTracks(trace, layout.slices);
  IndexSlices(trace, layout);
  layout.uses_no_track = HasRowsWithoutTrack(trace);
  layout.uses_steps = HasSteps(layout.slices);
  return layout;
}

}  // namespace orrery::exporting
