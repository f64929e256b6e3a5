#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "orrery/api/view.h"
#include "orrery/api/view/byte_columns.h"
#include "orrery/api/view/places.h"
#include "orrery/api/view/requests.h"
#include "orrery/api/view/results.h"
#include "orrery/api/view/tiles/activity_mipmap.h"
#include "orrery/api/view/tiles/tile_at.h"
#include "orrery/api/view/view_state.h"
#include "orrery/api/view/viewed_run.h"
#include "orrery/base/error.h"

namespace orrery::api::view {
namespace {

constexpr std::int64_t kMostLines = 128;

/// Counts of each trace in a line. Lines with equal contents look the same.
using TraceCounts = std::map<std::uint32_t, std::int64_t>;

TraceCounts TracesOf(const ViewedRun& run, const std::vector<std::uint32_t>& ordered,
                     std::size_t first, std::size_t end) {
  TraceCounts counts;
  for (std::size_t i = first; i < end; ++i) {
    ++counts[run.ranks()[ordered[i]].trace];
  }
  return counts;
}

std::vector<ActivityRun> LineOf(const ViewedRun& run, const TraceCounts& counts, TileAt at) {
  std::vector<BinTimes> bins(kBins, BinTimes{});
  for (const auto& [trace, count] : counts) {
    run.ActivityOfTrace(trace).AddTo(bins, at, count);
  }
  return RunsOf(bins);
}

}  // namespace

Result<Columns> MakeActivityTile(const View& view, const ActivityRequest& request) {
  ORRERY_TRY(const std::shared_ptr<const ViewedRun> viewed, view.state().RunAt(request.run));
  const ViewedRun& run = *viewed;
  const auto num_ranks = static_cast<std::int64_t>(run.ranks().size());
  ORRERY_TRY(const TileAt at, TileOf(request.level, request.tile));
  ORRERY_TRY(const RankOrder order, OrderNamed(request.order));
  ORRERY_TRY_STATUS(CheckLimits("fold", request.fold, 1, 1 << 30));
  ORRERY_TRY_STATUS(CheckLimits("first", request.first, 0, num_ranks));
  ORRERY_TRY_STATUS(CheckLimits("count", request.count, 1, kMostLines));
  const std::vector<std::uint32_t>& ordered = run.Ordered(order);
  std::map<TraceCounts, std::vector<ActivityRun>> known;
  std::vector<std::uint32_t> first_run{0};
  std::vector<std::uint16_t> begin_bin;
  std::vector<std::uint8_t> what;
  std::vector<std::uint8_t> share;
  const std::int64_t fold = request.fold;
  for (std::int64_t line = request.first;
       line < request.first + request.count && line * fold < num_ranks; ++line) {
    const auto begin = static_cast<std::size_t>(line * fold);
    const auto end = static_cast<std::size_t>(std::min((line + 1) * fold, num_ranks));
    TraceCounts counts = TracesOf(run, ordered, begin, end);
    auto found = known.find(counts);
    if (found == known.end()) {
      std::vector<ActivityRun> runs = LineOf(run, counts, at);
      found = known.emplace(std::move(counts), std::move(runs)).first;
    }
    for (const ActivityRun& own : found->second) {
      begin_bin.push_back(own.begin_bin);
      what.push_back(own.what);
      share.push_back(own.share);
    }
    first_run.push_back(static_cast<std::uint32_t>(what.size()));
  }
  Columns tile;
  AppendNumber(tile.bytes, static_cast<std::uint32_t>(first_run.size() - 1));
  AppendNumber(tile.bytes, static_cast<std::uint32_t>(what.size()));
  AppendColumn(tile.bytes, first_run);
  AppendColumn(tile.bytes, begin_bin);
  AppendColumn(tile.bytes, what);
  AppendColumn(tile.bytes, share);
  return tile;
}

}  // namespace orrery::api::view
