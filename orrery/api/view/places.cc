#include "orrery/api/view/places.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/api/view/results.h"
#include "orrery/api/view/tiles/slice_tracks.h"
#include "orrery/api/view/tiles/tile_at.h"
#include "orrery/api/view/viewed_run.h"
#include "orrery/base/columns.h"
#include "orrery/base/error.h"
#include "orrery/base/math/interval_set.h"

namespace orrery::api::view {

Status CheckLimits(std::string_view name, std::int64_t number, std::int64_t least,
                   std::int64_t most) {
  return number >= least && number <= most
             ? Status()
             : Invalid("{} must be a whole number from {} to {}", name, least, most);
}

Result<RankPlace> RankAt(const ViewedRun& run, std::int64_t rank) {
  ORRERY_TRY_STATUS(
      CheckLimits("rank", rank, 0, static_cast<std::int64_t>(run.ranks().size()) - 1));
  const auto row = static_cast<std::uint32_t>(rank);
  return RankPlace{row, run.ranks()[row].trace};
}

Result<const SliceTrack*> TrackAt(const ViewedRun& run, RankPlace rank, std::int64_t track) {
  const std::vector<SliceTrack>& tracks = run.IndexOf(rank.trace).tracks();
  ORRERY_TRY_STATUS(CheckLimits("track", track, 0, static_cast<std::int64_t>(tracks.size()) - 1));
  return &tracks[static_cast<std::size_t>(track)];
}

Result<TileAt> TileOf(std::int64_t level, std::int64_t tile) {
  ORRERY_TRY_STATUS(CheckLimits("level", level, 0, kMaxLevel));
  ORRERY_TRY_STATUS(CheckLimits("tile", tile, 0, LastTile(static_cast<int>(level))));
  return TileAt{static_cast<int>(level), tile};
}

Result<RankOrder> OrderNamed(const std::string& name) {
  constexpr std::array<std::string_view, kNumRankOrders> kNames = {"rank", "stage", "node", "late"};
  const auto found = std::ranges::find(kNames, name.empty() ? "rank" : std::string_view(name));
  if (found == kNames.end()) {
    return Invalid("order is none of rank, stage, node, late");
  }
  return static_cast<RankOrder>(found - kNames.begin());
}

Result<Interval> WindowOf(const ViewedRun& run, std::int64_t begin,
                          std::optional<std::int64_t> end) {
  ORRERY_TRY_STATUS(CheckLimits("begin", begin, -kMostTime, kMostTime));
  ORRERY_TRY_STATUS(CheckLimits("end", end.value_or(0), -kMostTime, kMostTime));
  const auto on_clock = [&](std::int64_t time_ns) {
    return run.begin_ns() + std::clamp<std::int64_t>(time_ns, 0, run.length_ns());
  };
  return Interval{on_clock(begin),
                  std::max(on_clock(begin), on_clock(end.value_or(run.length_ns())))};
}

std::optional<SlicePlace> PlaceOf(const ViewedRun& run, std::uint32_t rank_row, SliceTable table,
                                  RowId row) {
  const std::uint32_t trace = run.ranks()[rank_row].trace;
  const SliceColumns columns = ColumnsOf(run.set().ranks[trace], table);
  if (row >= columns.begin_ns.size() || columns.track[row] == kNoRow) {
    return {};
  }
  const TraceIndex& index = run.IndexOf(trace);
  const std::optional<std::uint32_t> track = index.PlaceOf(table, columns.track[row]);
  if (!track) {
    return {};
  }
  return SlicePlace{.rank = rank_row,
                    .track = *track,
                    .row = row,
                    .begin_ns = columns.begin_ns[row] - run.begin_ns(),
                    .duration_ns = columns.duration_ns[row],
                    .name = std::string(run.set().ranks[trace].Text(columns.name[row])),
                    .depth = DepthOf(index.tracks()[*track], row)};
}

}  // namespace orrery::api::view
