#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/api/view/tiles/tile_at.h"
#include "orrery/base/columns.h"
#include "orrery/base/string_table.h"
#include "orrery/trace/kernel_class.h"
#include "orrery/trace/trace.h"

namespace orrery::api::view {

/// The table of the rows of a track.
enum class SliceTable : std::uint8_t {
  kAnnotations,
  kPythonCalls,
  kHostOps,
  kRuntimeCalls,
  kActivities,
};

/// The columns that all of these tables have.
struct SliceColumns {
  std::span<const std::int64_t> begin_ns;
  std::span<const std::int64_t> duration_ns;
  std::span<const StringId> name;
  std::span<const RowId> track;

  [[nodiscard]] std::int64_t EndOf(RowId row) const { return begin_ns[row] + duration_ns[row]; }
};

[[nodiscard]] SliceColumns ColumnsOf(const trace::Trace& trace, SliceTable table);

/// Rows that follow each other without overlap, in order of begin.
class SliceRow {
 public:
  void Append(RowId row) { rows_.push_back(row); }

  /// Call when all rows are there.
  void Finish(const SliceColumns& columns);

  [[nodiscard]] std::span<const RowId> rows() const { return rows_; }

  /// The row with the longest duration of those at places `first` to `end`.
  [[nodiscard]] RowId Longest(const SliceColumns& columns, std::size_t first,
                              std::size_t end) const;

 private:
  std::vector<RowId> rows_;
  std::vector<RowId> longest_of_block_;  // of 64 rows
};

/// Slices of one thread or stream from one table, by depth.
struct SliceTrack {
  SliceTable table = SliceTable::kActivities;
  RowId track = kNoRow;    // Tracks of the trace
  std::string group = {};  // "GPU 0", "thread 3"
  std::string name = {};   // "stream 7", "operators"
  std::vector<SliceRow> depths = {};
  std::size_t count = 0;
};

/// The tracks of a trace as they are shown: ranges, Python frames, operators and runtime calls of
/// each host thread, then streams. O(rows).
[[nodiscard]] std::vector<SliceTrack> TracksOf(const trace::Trace& trace);

/// The place in `depths` of a row of the track.
[[nodiscard]] std::int64_t DepthOf(const SliceTrack& track, RowId row);

/// "ranges", "python", "host", "calls", "stream".
[[nodiscard]] std::string_view KindName(SliceTable table);

/// A rectangle of a tile. Times in 256ths of a bin from the tile's begin.
struct TileSlice {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  RowId row = kNoRow;        // the longest of those that it stands for
  std::uint32_t merged = 1;  // their number
  std::uint8_t depth = 0;

  bool operator==(const TileSlice&) const = default;
};

inline constexpr std::uint32_t kPartsOfBin = 256;

/// The slices of a track in a tile. Slices narrower than a bin that begin in one bin are merged.
/// O(bins · log rows) for each depth.
[[nodiscard]] std::vector<TileSlice> SlicesIn(const SliceTrack& track, const SliceColumns& columns,
                                              TileAt at, std::int64_t origin_ns);

}  // namespace orrery::api::view
