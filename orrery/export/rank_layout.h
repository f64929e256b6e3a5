#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <span>

#include "orrery/export/collective_spans.h"
#include "orrery/trace/trace.h"

namespace orrery::exporting {

/// The tables whose rows are slices, and the waits that we add. In nesting order: of two slices
/// with equal times the one of the earlier kind lies outside.
enum class SliceKind : std::uint8_t {
  kStep,  // only those that no annotation shows
  kOther,
  kAnnotation,
  kPythonCall,
  kHostOp,
  kRuntimeCall,
  kActivity,
  kSync,
  kWait,  // `row` is the activity it belongs to
};

inline constexpr std::size_t kNumSliceKinds = 9;

/// Calls `visit(table)` with the table of a kind of slices; that of waits is Activities.
template <typename Visit>
auto VisitSliceTable(const trace::Trace& trace, SliceKind kind, Visit&& visit) {
  switch (kind) {
    case SliceKind::kStep:
      return visit(trace.steps);
    case SliceKind::kOther:
      return visit(trace.other_slices);
    case SliceKind::kAnnotation:
      return visit(trace.annotations);
    case SliceKind::kPythonCall:
      return visit(trace.python_calls);
    case SliceKind::kHostOp:
      return visit(trace.host_ops);
    case SliceKind::kRuntimeCall:
      return visit(trace.runtime_calls);
    case SliceKind::kSync:
      return visit(trace.syncs);
    case SliceKind::kActivity:
    case SliceKind::kWait:
      break;
  }
  return visit(trace.activities);
}

struct PlacedSlice {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  RowId row = kNoRow;
  RowId track = kNoRow;  // an index as for RankLayout::num_lanes
  SliceKind kind = SliceKind::kOther;
  Lane lane = 0;
};

/// The layout of the slices of one rank.
struct RankLayout {
  /// All slices, by track, then begin, ties longer first.
  std::vector<PlacedSlice> slices;

  /// For each track, then for rows that name no track, then for the steps (see DrawnTracks).
  std::vector<Lane> num_lanes;

  /// True if anything is drawn on the added tracks: rows without a track, steps.
  bool uses_no_track = false;
  bool uses_steps = false;

  /// By kind, then row: the index into `slices`, or kNotDrawn.
  std::array<std::vector<std::uint32_t>, kNumSliceKinds> slice_of_row;

  static constexpr std::uint32_t kNotDrawn = std::numeric_limits<std::uint32_t>::max();

  /// Returns whether a track has anything to draw. Tracks of the trace always count as used, to
  /// keep their names.
  [[nodiscard]] bool IsUsed(RowId drawn_track) const {
    const std::size_t num_trace_tracks = num_lanes.size() - 2;
    if (drawn_track < num_trace_tracks) {
      return true;
    }
    return drawn_track == num_trace_tracks ? uses_no_track : uses_steps;
  }

  /// The lane of a row that is drawn.
  [[nodiscard]] Lane LaneOf(SliceKind kind, RowId row) const {
    return slices[slice_of_row[static_cast<std::size_t>(kind)][row]].lane;
  }
};

/// The tracks that are drawn: those of the trace and two of our own behind them.
struct DrawnTracks {
  explicit DrawnTracks(const trace::Trace& trace)
      : none(static_cast<RowId>(trace.tracks.size())), steps(none + 1), count(none + 2) {}

  /// Returns the drawn track for rows of a track.
  [[nodiscard]] RowId Of(RowId track) const { return track < none ? track : none; }

  RowId none;  // for rows that name no track
  RowId steps;
  std::size_t count;
};

/// Until when a collective of one rank waits for other ranks.
struct CollectiveWait {
  RowId collective = kNoRow;
  std::int64_t until_ns = 0;
};

/// Sorts the waits of all members by rank.
[[nodiscard]] std::vector<std::vector<CollectiveWait>> WaitsByRank(
    std::size_t num_ranks, std::span<const CollectiveSpan> collectives);

/// Lays out the slices of one rank; each communication kernel that waits gets a slice at its head.
[[nodiscard]] RankLayout LayOutRank(const trace::Trace& trace,
                                    std::span<const CollectiveWait> waits = {});

/// Returns the title of a track: "stream 7", "thread 598 (pt_autograd_0)".
[[nodiscard]] std::string TrackTitle(const trace::Trace& trace, RowId drawn_track);

/// Returns the title of a lane: that of its track, and the lane's number from the second on.
[[nodiscard]] std::string LaneTitle(std::string_view track_title, Lane lane);

/// Returns the name of the counter of an allocator's memory: "orrery memory of GPU 0". Our reader
/// recognizes it by its prefix and derives the counter again.
[[nodiscard]] std::string MemoryCounterName(const trace::Trace& trace, RowId memory_event);

/// The names of slices, and the categories that Kineto gives them.
class SliceNames {
 public:
  explicit SliceNames(const trace::Trace& trace)
      : trace_(trace), carrier_(trace.strings.Find("record_param_comms")) {}

  /// Not for waits, whose name is not a string of the trace.
  [[nodiscard]] StringId Name(const PlacedSlice& slice) const {
    return VisitSliceTable(trace_, slice.kind,
                           [&](const auto& table) { return table.name[slice.row]; });
  }

  [[nodiscard]] std::string_view Category(const PlacedSlice& slice) const;

  /// Returns the collective whose arguments an operator carries, or kNoRow. PyTorch puts them on
  /// the operator record_param_comms and nowhere else.
  [[nodiscard]] RowId CollectiveOfOp(RowId host_op) const {
    return trace_.host_ops.name[host_op] == carrier_ ? trace_.host_ops.collective[host_op] : kNoRow;
  }

 private:
  const trace::Trace& trace_;
  StringId carrier_;
};

}  // namespace orrery::exporting
