#include "orrery/analyze/graph/device_lanes.h"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "orrery/trace/tables.h"

namespace orrery::analyze {
namespace {


std::int64_t EndOf(const trace::Activities& activities, RowId row) {
  return activities.begin_ns[row] + activities.duration_ns[row];
}

// Of activities that begin together the shorter one went first.
void SortLane(const trace::Activities& activities, std::vector<RowId>& rows) {
  const auto key = [&](RowId row) {
    return std::tuple(activities.begin_ns[row], EndOf(activities, row), row);
  };
  if (!std::ranges::is_sorted(rows, {}, key)) {
    std::ranges::sort(rows, {}, key);
  }
}

// One list more than tracks: activities of no track.
std::vector<std::vector<RowId>> RowsByTrack(const RankPart& part, RowRange rows) {
  const trace::Activities& activities = part.trace->activities;
  const std::size_t num_tracks = part.trace->tracks.size();
  std::vector<std::vector<RowId>> by_track(num_tracks + 1);
  for (RowId row = rows.first; row < rows.end; ++row) {
    if (EndOf(activities, row) <= part.device_window.end_ns) {
      const RowId track = activities.track[row];
      by_track[track == kNoRow ? num_tracks : track].push_back(row);
    }
  }
  return by_track;
}

void AddStream(RankPart& part, RowId track, const std::vector<RowId>& rows) {
  const trace::Activities& activities = part.trace->activities;
  Lane lane{.track = track, .first = part.num_nodes()};
  for (const RowId row : rows) {
    const NodeId start = part.AddNode(activities.begin_ns[row], NodeKind::kActivityStart, row);
    part.AddNode(EndOf(activities, row), NodeKind::kActivityEnd, row);
    part.activity_start.Set(row, start);
  }
  lane.end = part.num_nodes();
  part.streams.push_back(lane);
}

TimeClass WorkClass(trace::KernelClass kernel_class) {
  switch (kernel_class) {
    case trace::KernelClass::kCommunication:
      return TimeClass::kCommunication;
    case trace::KernelClass::kMemory:
      return TimeClass::kMemory;
    default:
      return TimeClass::kCompute;
  }
}

void AddWork(RankPart& part, NodeId start) {
  const NodeId end = start + 1;
  if (part.meets[end]) {
    return;
  }
  const TimeClass time_class = WorkClass((*part.classes)[part.row[start]]);
  part.counts.unmatched_collectives += time_class == TimeClass::kCommunication ? 1 : 0;
  part.edges.push_back({.from = start,
                        .to = end,
                        .weight_ns = part.time_ns[end] - part.time_ns[start],
                        .kind = EdgeKind::kWork,
                        .time_class = time_class});
}

// How many activities before are looked at; a stream runs few things at a time.
constexpr NodeId kMostOverlaps = 16;

// Activities of one stream may overlap (branches of a graph, kernels that start early, coarse
// clocks), which contradicts nothing: the last one that had ended is the reason.
void AddStreamOrder(RankPart& part, const Lane& lane, NodeId start) {
  const NodeId before = std::min(kMostOverlaps, (start - lane.first) / 2);
  for (NodeId back = 1; back <= before; ++back) {
    const NodeId end = start + 1 - 2 * back;
    if (part.time_ns[end] <= part.time_ns[start]) {
      part.edges.push_back({.from = end, .to = start, .kind = EdgeKind::kStreamOrder});
      return;
    }
    part.counts.stream_overlaps += back == 1 ? 1 : 0;
  }
}

}  // namespace

void AddDeviceNodes(RankPart& part) {
  const RowRange rows = RowsWithin(part.trace->activities.begin_ns, part.device_window);
  part.activity_start = RowMap(rows.first, rows.size());
  std::vector<std::vector<RowId>> by_track = RowsByTrack(part, rows);
  for (std::size_t track = 0; track < by_track.size(); ++track) {
    if (!by_track[track].empty()) {
      const bool is_known = track + 1 < by_track.size();
      SortLane(part.trace->activities, by_track[track]);
      AddStream(part, is_known ? static_cast<RowId>(track) : kNoRow, by_track[track]);
      part.counts.num_activities += static_cast<std::int64_t>(by_track[track].size());
    }
  }
}

void AddDeviceEdges(RankPart& part) {
  for (const Lane& lane : part.streams) {
    for (NodeId start = lane.first; start < lane.end; start += 2) {
      AddWork(part, start);
      AddStreamOrder(part, lane, start);
    }
  }
}

}  // namespace orrery::analyze
