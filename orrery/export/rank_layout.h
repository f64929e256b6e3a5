#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "orrery/export/collective_spans.h"
#include "orrery/export/slice_layout.h"
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

  /// Whether anything is drawn on the tracks of our own: rows without a track, steps.
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

  /// Where a row with this track goes.
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

}  // namespace orrery::exporting
