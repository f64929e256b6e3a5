#include "orrery/api/view/tiles/slice_tracks.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/api/view/tiles/tile_at.h"
#include "orrery/base/columns.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"

namespace orrery::api::view {
namespace {

constexpr std::size_t kBlock = 64;
constexpr std::size_t kMostDepths = 256;  // deeper slices share the last line

RowId LongerOf(const SliceColumns& columns, RowId first, RowId second) {
  return columns.duration_ns[second] > columns.duration_ns[first] ? second : first;
}

RowId LongestOf(const SliceColumns& columns, std::span<const RowId> rows) {
  RowId longest = rows.front();
  for (const RowId row : rows) {
    longest = LongerOf(columns, longest, row);
  }
  return longest;
}

template <typename Table>
SliceColumns ColumnsOf(const Table& table) {
  return {table.begin_ns, table.duration_ns, table.name, table.track};
}

/// Sorts the rows of a table into the tracks of a trace, by depth: a slice lies on the first line
/// on which the one before has ended.
class TableTracks {
 public:
  TableTracks(const trace::Trace& trace, SliceTable table)
      : columns_(ColumnsOf(trace, table)), place_of_track_(trace.tracks.size(), kNoRow) {
    for (RowId row = 0; row < columns_.begin_ns.size(); ++row) {
      if (columns_.track[row] != kNoRow && columns_.duration_ns[row] >= 0) {
        Add(row, table);
      }
    }
    for (SliceTrack& track : tracks_) {
      for (SliceRow& depth : track.depths) {
        depth.Finish(columns_);
      }
    }
  }

  [[nodiscard]] std::vector<SliceTrack> Take() && { return std::move(tracks_); }

 private:
  void Add(RowId row, SliceTable table) {
    RowId& place = place_of_track_[columns_.track[row]];
    if (place == kNoRow) {
      place = static_cast<RowId>(tracks_.size());
      tracks_.push_back({.table = table, .track = columns_.track[row]});
    }
    SliceTrack& track = tracks_[place];
    ++track.count;
    track.depths[DepthFor(row, track)].Append(row);
  }

  [[nodiscard]] std::size_t DepthFor(RowId row, SliceTrack& track) const {
    for (std::size_t depth = 0; depth < track.depths.size(); ++depth) {
      if (columns_.EndOf(track.depths[depth].rows().back()) <= columns_.begin_ns[row]) {
        return depth;
      }
    }
    if (track.depths.size() < kMostDepths) {
      track.depths.emplace_back();
    }
    return track.depths.size() - 1;
  }

  SliceColumns columns_;
  std::vector<RowId> place_of_track_;
  std::vector<SliceTrack> tracks_;
};

std::string GroupName(const trace::Trace& trace, RowId track) {
  const trace::Tracks& tracks = trace.tracks;
  if (tracks.kind[track] == trace::TrackKind::kDevice) {
    return fmt::format("GPU {}", std::max(tracks.device[track], 0));
  }
  const std::string_view name = trace.Text(tracks.name[track]);
  return name.empty() ? fmt::format("thread {}", tracks.thread[track])
                      : fmt::format("{} {}", name, tracks.thread[track]);
}

std::string TrackName(const trace::Trace& trace, const SliceTrack& track) {
  switch (track.table) {
    case SliceTable::kAnnotations:
      return "ranges";
    case SliceTable::kPythonCalls:
      return "Python";
    case SliceTable::kHostOps:
      return "operators";
    case SliceTable::kRuntimeCalls:
      return "runtime calls";
    case SliceTable::kActivities:
      break;
  }
  return fmt::format("stream {}", trace.tracks.thread[track.track]);
}

// Threads before devices; of a thread the outermost first.
auto OrderOf(const trace::Trace& trace, const SliceTrack& track) {
  const trace::Tracks& tracks = trace.tracks;
  return std::tuple(tracks.kind[track.track] == trace::TrackKind::kDevice,
                    tracks.device[track.track], tracks.process[track.track],
                    tracks.thread[track.track], track.track, track.table);
}

/// Writes the slices of one depth, bin by bin.
class RowTile {
 public:
  RowTile(const SliceRow& row, const SliceColumns& columns, TileAt at, std::int64_t origin_ns)
      : row_(row),
        columns_(columns),
        at_(at),
        begin_ns_(origin_ns + at.begin_ns()),
        end_ns_(origin_ns + at.end_ns()) {}

  void AddTo(std::vector<TileSlice>& slices, std::uint8_t depth) {
    const std::span<const RowId> rows = row_.rows();
    std::size_t place = FirstEndingAfter(begin_ns_);
    while (place < rows.size() && columns_.begin_ns[rows[place]] < end_ns_) {
      const std::size_t next = IsWide(rows[place]) ? place + 1 : EndOfBin(place);
      const RowId longest = next - place == 1 ? rows[place] : row_.Longest(columns_, place, next);
      slices.push_back({PartOf(columns_.begin_ns[rows[place]], false),
                        PartOf(columns_.EndOf(rows[next - 1]), true), longest,
                        static_cast<std::uint32_t>(next - place), depth});
      place = next;
    }
  }

 private:
  [[nodiscard]] std::size_t FirstEndingAfter(std::int64_t time_ns) const {
    const auto found = std::ranges::upper_bound(row_.rows(), time_ns, {},
                                                [&](RowId row) { return columns_.EndOf(row); });
    return static_cast<std::size_t>(found - row_.rows().begin());
  }

  [[nodiscard]] bool IsWide(RowId row) const { return columns_.duration_ns[row] >= at_.bin_ns(); }

  // Behind the slices that begin in the same bin, up to the first wide one.
  [[nodiscard]] std::size_t EndOfBin(std::size_t place) const {
    const std::span<const RowId> rows = row_.rows();
    const std::int64_t bin = (columns_.begin_ns[rows[place]] - begin_ns_) >> at_.level;
    const std::int64_t bin_end_ns = begin_ns_ + ((bin + 1) << at_.level);
    // Gallop: most bins hold few slices, some hold very many.
    std::size_t step = 1;
    while (place + step < rows.size() && columns_.begin_ns[rows[place + step]] < bin_end_ns) {
      step *= 2;
    }
    const auto first = rows.begin() + static_cast<std::ptrdiff_t>(place + step / 2);
    const auto last =
        rows.begin() + static_cast<std::ptrdiff_t>(std::min(place + step, rows.size()));
    const auto found = std::lower_bound(first, last, bin_end_ns, [&](RowId row, std::int64_t time) {
      return columns_.begin_ns[row] < time;
    });
    auto end = static_cast<std::size_t>(found - rows.begin());
    end = std::max(end, place + 1);
    // Only the last one that begins in a bin can reach beyond it.
    return end - place > 1 && IsWide(rows[end - 1]) ? end - 1 : end;
  }

  [[nodiscard]] std::uint32_t PartOf(std::int64_t time_ns, bool rounds_up) const {
    const std::int64_t clipped_ns = std::clamp(time_ns, begin_ns_, end_ns_) - begin_ns_;
    const std::int64_t bin = clipped_ns >> at_.level;
    const std::int64_t rest_ns = clipped_ns - (bin << at_.level);
    const double part =
        static_cast<double>(rest_ns) * kPartsOfBin / static_cast<double>(at_.bin_ns());
    const auto whole = static_cast<std::uint32_t>(part);
    return static_cast<std::uint32_t>(bin) * kPartsOfBin + whole +
           (rounds_up && part > whole ? 1 : 0);
  }

  const SliceRow& row_;
  const SliceColumns& columns_;
  TileAt at_;
  std::int64_t begin_ns_;
  std::int64_t end_ns_;
};

}  // namespace

SliceColumns ColumnsOf(const trace::Trace& trace, SliceTable table) {
  switch (table) {
    case SliceTable::kAnnotations:
      return ColumnsOf(trace.annotations);
    case SliceTable::kPythonCalls:
      return ColumnsOf(trace.python_calls);
    case SliceTable::kHostOps:
      return ColumnsOf(trace.host_ops);
    case SliceTable::kRuntimeCalls:
      return ColumnsOf(trace.runtime_calls);
    case SliceTable::kActivities:
      break;
  }
  return ColumnsOf(trace.activities);
}

void SliceRow::Finish(const SliceColumns& columns) {
  rows_.shrink_to_fit();
  for (std::size_t first = 0; first < rows_.size(); first += kBlock) {
    const std::size_t count = std::min(kBlock, rows_.size() - first);
    longest_of_block_.push_back(LongestOf(columns, std::span(rows_).subspan(first, count)));
  }
}

RowId SliceRow::Longest(const SliceColumns& columns, std::size_t first, std::size_t end) const {
  const std::size_t first_block = (first + kBlock - 1) / kBlock;
  const std::size_t end_block = end / kBlock;
  if (first_block >= end_block) {
    return LongestOf(columns, std::span(rows_).subspan(first, end - first));
  }
  RowId longest = LongestOf(
      columns, std::span(longest_of_block_).subspan(first_block, end_block - first_block));
  if (first < first_block * kBlock) {
    longest = LongerOf(
        columns, LongestOf(columns, std::span(rows_).subspan(first, first_block * kBlock - first)),
        longest);
  }
  if (end_block * kBlock < end) {
    longest = LongerOf(
        columns, longest,
        LongestOf(columns, std::span(rows_).subspan(end_block * kBlock, end - end_block * kBlock)));
  }
  return longest;
}

std::vector<SliceTrack> TracksOf(const trace::Trace& trace) {
  std::vector<SliceTrack> tracks;
  for (const SliceTable table :
       {SliceTable::kAnnotations, SliceTable::kPythonCalls, SliceTable::kHostOps,
        SliceTable::kRuntimeCalls, SliceTable::kActivities}) {
    for (SliceTrack& track : TableTracks(trace, table).Take()) {
      track.group = GroupName(trace, track.track);
      track.name = TrackName(trace, track);
      tracks.push_back(std::move(track));
    }
  }
  std::ranges::stable_sort(tracks, {},
                           [&](const SliceTrack& track) { return OrderOf(trace, track); });
  return tracks;
}

std::int64_t DepthOf(const SliceTrack& track, RowId row) {
  const auto holds = [&](const SliceRow& depth) {
    return std::ranges::binary_search(depth.rows(), row);
  };
  return std::ranges::find_if(track.depths, holds) - track.depths.begin();
}

std::string_view KindName(SliceTable table) {
  switch (table) {
    case SliceTable::kAnnotations:
      return "ranges";
    case SliceTable::kPythonCalls:
      return "python";
    case SliceTable::kHostOps:
      return "host";
    case SliceTable::kRuntimeCalls:
      return "calls";
    case SliceTable::kActivities:
      break;
  }
  return "stream";
}

std::vector<TileSlice> SlicesIn(const SliceTrack& track, const SliceColumns& columns, TileAt at,
                                std::int64_t origin_ns) {
  std::vector<TileSlice> slices;
  for (std::size_t depth = 0; depth < track.depths.size(); ++depth) {
    RowTile(track.depths[depth], columns, at, origin_ns)
        .AddTo(slices, static_cast<std::uint8_t>(depth));
  }
  return slices;
}

}  // namespace orrery::api::view
