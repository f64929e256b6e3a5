#include "orrery/export/rank_layout.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/columns.h"
#include "orrery/base/string_table.h"
#include "orrery/export/collective_spans.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"

namespace orrery::exporting {
namespace {

using trace::Trace;
using trace::TrackKind;

// For each activity how long its head waits, in ns; empty when none does.
using KernelWaits = std::vector<std::int64_t>;

template <typename Table>
void AddSlices(const Trace& trace, const Table& table, SliceKind kind,
               std::vector<PlacedSlice>& slices) {
  const DrawnTracks tracks(trace);
  for (RowId row = 0; row < table.size(); ++row) {
    RowId track = tracks.steps;
    if constexpr (requires { table.track; }) {
      track = tracks.Of(table.track[row]);
    } else if (table.annotation[row] != kNoRow) {
      continue;  // the annotation shows the step
    }
    const std::int64_t duration_ns = std::max<std::int64_t>(table.duration_ns[row], 0);
    slices.push_back({.begin_ns = table.begin_ns[row],
                      .end_ns = table.begin_ns[row] + duration_ns,
                      .row = row,
                      .track = track,
                      .kind = kind});
  }
}

std::vector<PlacedSlice> CollectSlices(const Trace& trace) {
  std::vector<PlacedSlice> slices;
  for (std::size_t i = 0; i < static_cast<std::size_t>(SliceKind::kWait); ++i) {
    const auto kind = static_cast<SliceKind>(i);
    VisitSliceTable(trace, kind, [&](const auto& table) { AddSlices(trace, table, kind, slices); });
  }
  std::ranges::sort(slices, [](const PlacedSlice& lhs, const PlacedSlice& rhs) {
    return std::tie(lhs.track, lhs.begin_ns, rhs.end_ns, lhs.kind, lhs.row) <
           std::tie(rhs.track, rhs.begin_ns, lhs.end_ns, rhs.kind, rhs.row);
  });
  return slices;
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
  if (kind == SliceKind::kSync || kind == SliceKind::kOther) {
    return 2;
  }
  const bool is_device_annotation = kind == SliceKind::kAnnotation && on_device;
  return is_device_annotation || kind == SliceKind::kPythonCall ? 1 : 0;
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

void IndexSlices(const Trace& trace, RankLayout& layout) {
  layout.num_lanes.assign(DrawnTracks(trace).count, 1);
  for (std::size_t kind = 0; kind < kNumSliceKinds; ++kind) {
    const std::size_t num_rows = VisitSliceTable(trace, static_cast<SliceKind>(kind),
                                                 [](const auto& table) { return table.size(); });
    layout.slice_of_row[kind].assign(num_rows, RankLayout::kNotDrawn);
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

// Work and calls of other vendors have no category of their own in Kineto; these are read back as
// "other" again.
constexpr std::array<std::string_view, 4> kActivityCategories{"kernel", "gpu_memcpy", "gpu_memset",
                                                              "hpu_op"};  // by ActivityKind
constexpr std::array<std::string_view, 3> kApiCategories{"cuda_runtime", "cuda_driver",
                                                         "privateuse1_runtime"};  // by ApiKind

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
  layout.slices = InsertWaits(CollectSlices(trace), KernelWaitsOf(trace, waits));
  LayOutTracks(trace, layout.slices);
  IndexSlices(trace, layout);
  layout.uses_no_track = HasRowsWithoutTrack(trace);
  layout.uses_steps = std::ranges::count(layout.slices, SliceKind::kStep, &PlacedSlice::kind) > 0;
  return layout;
}

std::string TrackTitle(const Trace& trace, RowId drawn_track) {
  const DrawnTracks tracks(trace);
  if (drawn_track >= tracks.none) {
    return drawn_track == tracks.steps ? "steps" : "no track";
  }
  if (trace.tracks.name[drawn_track] != StringId::kEmpty) {
    return std::string(trace.Text(trace.tracks.name[drawn_track]));
  }
  const bool on_device = trace.tracks.kind[drawn_track] == trace::TrackKind::kDevice;
  return fmt::format("{} {}", on_device ? "stream" : "thread", trace.tracks.thread[drawn_track]);
}

std::string LaneTitle(std::string_view track_title, Lane lane) {
  return lane == 0 ? std::string(track_title) : fmt::format("{} ({})", track_title, lane + 1);
}

std::string MemoryCounterName(const Trace& trace, RowId memory_event) {
  const trace::DeviceKind kind = trace.memory_events.device_kind[memory_event];
  if (kind == trace::DeviceKind::kCpu) {
    return "orrery memory of CPU";
  }
  return fmt::format("orrery memory of {} {}", kind == trace::DeviceKind::kGpu ? "GPU" : "device",
                     trace.memory_events.device[memory_event]);
}

std::string_view SliceNames::Category(const PlacedSlice& slice) const {
  switch (slice.kind) {
    case SliceKind::kStep:
      return "orrery_step";
    case SliceKind::kOther:
      return trace_.Text(trace_.other_slices.category[slice.row]);
    case SliceKind::kAnnotation:
      return trace_.annotations.kind[slice.row] == trace::AnnotationKind::kHost
                 ? "user_annotation"
                 : "gpu_user_annotation";
    case SliceKind::kPythonCall:
      return "python_function";
    case SliceKind::kHostOp:
      return "cpu_op";
    case SliceKind::kRuntimeCall:
      return kApiCategories[static_cast<std::size_t>(trace_.runtime_calls.api[slice.row])];
    case SliceKind::kActivity:
      return kActivityCategories[static_cast<std::size_t>(trace_.activities.kind[slice.row])];
    case SliceKind::kSync:
      return trace_.syncs.kind[slice.row] == trace::SyncKind::kEventRecord ? "cuda_event"
                                                                           : "cuda_sync";
    case SliceKind::kWait:
      return "orrery_wait";
  }
  return {};
}

}  // namespace orrery::exporting
