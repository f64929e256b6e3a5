#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/serve/answers/answers.h"
#include "orrery/serve/answers/byte_columns.h"
#include "orrery/serve/http/request.h"
#include "orrery/serve/tiles/activity_mipmap.h"
#include "orrery/serve/viewed_run.h"

namespace orrery::serve {
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

Result<Response> AnswerActivity(const ViewedRun& run, const Query& query) {
  const auto num_ranks = static_cast<std::int64_t>(run.ranks().size());
  ORRERY_TRY(const TileAt at, TileOf(query));
  ORRERY_TRY(const RankOrder order, OrderOf(query));
  ORRERY_TRY(const std::int64_t fold, query.Number("fold", 1, 1 << 30, 1));
  ORRERY_TRY(const std::int64_t first, query.Number("first", 0, num_ranks, 0));
  ORRERY_TRY(const std::int64_t count, query.Number("count", 1, kMostLines));
  const std::vector<std::uint32_t>& ordered = run.Ordered(order);
  std::map<TraceCounts, std::vector<ActivityRun>> known;
  std::vector<std::uint32_t> first_run{0};
  std::vector<std::uint16_t> begin_bin;
  std::vector<std::uint8_t> what;
  std::vector<std::uint8_t> share;
  for (std::int64_t line = first; line < first + count && line * fold < num_ranks; ++line) {
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
  Response response{.type = kBinaryType};
  AppendNumber(response.body, static_cast<std::uint32_t>(first_run.size() - 1));
  AppendNumber(response.body, static_cast<std::uint32_t>(what.size()));
  AppendColumn(response.body, first_run);
  AppendColumn(response.body, begin_bin);
  AppendColumn(response.body, what);
  AppendColumn(response.body, share);
  return response;
}

}  // namespace orrery::serve
