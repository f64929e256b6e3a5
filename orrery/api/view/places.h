#pragma once

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

// Checked numbers of requests, and places that answers name.

namespace orrery::api::view {

/// A row of the page and its trace.
struct RankPlace {
  std::uint32_t row = 0;
  std::uint32_t trace = 0;
};

inline constexpr std::int64_t kMostTime = std::int64_t{1} << 62;

/// Fails where a number of a request is not within its limits.
[[nodiscard]] Status CheckLimits(std::string_view name, std::int64_t number, std::int64_t least,
                                 std::int64_t most);

[[nodiscard]] Result<RankPlace> RankAt(const ViewedRun& run, std::int64_t rank);
[[nodiscard]] Result<const SliceTrack*> TrackAt(const ViewedRun& run, RankPlace rank,
                                                std::int64_t track);
[[nodiscard]] Result<TileAt> TileOf(std::int64_t level, std::int64_t tile);
[[nodiscard]] Result<RankOrder> OrderNamed(const std::string& name);

/// From `begin` to `end`, on the clock of the traces.
[[nodiscard]] Result<Interval> WindowOf(const ViewedRun& run, std::int64_t begin,
                                        std::optional<std::int64_t> end);

/// The place of a slice; nothing where its track is not shown.
[[nodiscard]] std::optional<SlicePlace> PlaceOf(const ViewedRun& run, std::uint32_t rank_row,
                                                SliceTable table, RowId row);

}  // namespace orrery::api::view
