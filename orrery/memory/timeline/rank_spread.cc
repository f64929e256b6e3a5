#include "orrery/memory/timeline/rank_spread.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace orrery::memory::timeline {
namespace {

using PeakOfRank = std::map<std::int32_t, std::int64_t>;

double PercentAbove(std::int64_t largest, std::int64_t smallest) {
  return smallest <= 0 ? 0
                       : 100 * (static_cast<double>(largest) / static_cast<double>(smallest) - 1);
}

bool IsDevice(const Timeline& timeline) {
  return timeline.place.kind != trace::DeviceKind::kCpu;
}

// What a rank does to its memory, whenever it does it.
std::vector<std::int64_t> ShapeOf(const Timeline& timeline) {
  std::vector<std::int64_t> shape;
  for (const Point& point : timeline.points) {
    shape.insert(shape.end(), point.bytes.begin(), point.bytes.end());
  }
  return shape;
}

std::vector<std::int32_t> RanksIn(std::string_view list) {
  std::vector<std::int32_t> ranks;
  while (!list.empty()) {
    const std::size_t digit = list.find_first_of("0123456789");
    if (digit == std::string_view::npos) {
      break;
    }
    list.remove_prefix(digit);
    std::int32_t rank = 0;
    const auto [end, error] = std::from_chars(list.data(), list.data() + list.size(), rank);
    ranks.push_back(rank);
    list.remove_prefix(static_cast<std::size_t>(end - list.data()));
  }
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

double SpreadAmong(const std::vector<std::int32_t>& ranks, const PeakOfRank& peaks) {
  std::int64_t smallest = -1;
  std::int64_t largest = 0;
  for (const std::int32_t rank : ranks) {
    if (const auto found = peaks.find(rank); found != peaks.end()) {
      smallest = smallest < 0 ? found->second : std::min(smallest, found->second);
      largest = std::max(largest, found->second);
    }
  }
  return PercentAbove(largest, smallest);
}

std::vector<GroupSpread> SpreadOfGroups(std::span<const trace::Trace* const> ranks_of_run,
                                        const PeakOfRank& peaks) {
  std::set<std::pair<std::string, std::vector<std::int32_t>>> groups;
  for (const trace::Trace* const rank : ranks_of_run) {
    const trace::Trace& trace = *rank;
    for (RowId row = 0; row < trace.process_groups.size(); ++row) {
      const std::string kind(trace.Text(trace.process_groups.description[row]));
      std::vector<std::int32_t> ranks = RanksIn(trace.Text(trace.process_groups.ranks[row]));
      if (!kind.empty() && ranks.size() > 1) {
        groups.emplace(kind, std::move(ranks));
      }
    }
  }
  std::vector<GroupSpread> spreads;
  for (const auto& [kind, ranks] : groups) {
    if (spreads.empty() || spreads.back().kind != kind) {
      spreads.push_back({.kind = kind});
    }
    ++spreads.back().num_groups;
    spreads.back().largest_percent =
        std::max(spreads.back().largest_percent, SpreadAmong(ranks, peaks));
  }
  return spreads;
}

}  // namespace

double RankSpread::Percent() const {
  return PercentAbove(largest_bytes, smallest_bytes);
}

RankSpread SpreadOf(std::span<const trace::Trace* const> ranks,
                    const std::vector<Timeline>& timelines) {
  RankSpread spread;
  PeakOfRank peaks;
  std::vector<std::vector<std::int64_t>> shapes;
  for (const Timeline& timeline : timelines) {
    if (!IsDevice(timeline)) {
      continue;
    }
    const std::int64_t bytes = timeline.peak.bytes;
    if (spread.smallest_rank < 0 || bytes < spread.smallest_bytes) {
      spread.smallest_bytes = bytes;
      spread.smallest_rank = timeline.rank;
    }
    if (spread.largest_rank < 0 || bytes > spread.largest_bytes) {
      spread.largest_bytes = bytes;
      spread.largest_rank = timeline.rank;
    }
    peaks[timeline.rank] = std::max(peaks[timeline.rank], bytes);
    std::vector<std::int64_t> shape = ShapeOf(timeline);
    const auto known = std::find(shapes.begin(), shapes.end(), shape);
    if (known == shapes.end()) {
      shapes.push_back(std::move(shape));
      spread.alike.push_back({timeline.rank});
    } else {
      spread.alike[static_cast<std::size_t>(known - shapes.begin())].push_back(timeline.rank);
    }
  }
  spread.groups = SpreadOfGroups(ranks, peaks);
  return spread;
}

}  // namespace orrery::memory::timeline
