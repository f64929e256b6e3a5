#include "orrery/api/view/tiles/activity_mipmap.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "orrery/api/view/tiles/activity.h"
#include "orrery/api/view/tiles/tile_at.h"

namespace orrery::api::view {
namespace {

constexpr std::int64_t kSegmentsOfBin = 4;
constexpr std::int64_t kWholeBin = 65535;
constexpr int kMaxShare = 255;

// The largest share first; among equals the first activity.
std::size_t LongestOf(const BinTimes& times) {
  return static_cast<std::size_t>(std::ranges::max_element(times) - times.begin());
}

}  // namespace

ActivityMipmap::ActivityMipmap(ActivityLine line, std::int64_t origin_ns)
    : line_(std::move(line)), origin_ns_(origin_ns) {
  const std::int64_t length_ns = std::max<std::int64_t>(line_.end_ns - origin_ns_, 1);
  const std::int64_t wanted_bins =
      std::max<std::int64_t>(static_cast<std::int64_t>(line_.size()) / kSegmentsOfBin, 1);
  const auto bin_ns =
      static_cast<std::uint64_t>(std::max<std::int64_t>(length_ns / wanted_bins, 1));
  first_level_ = static_cast<int>(std::bit_width(std::bit_ceil(bin_ns))) - 1;
  const auto num_bins = static_cast<std::size_t>((length_ns >> first_level_) + 1);
  levels_.emplace_back(num_bins, Shares{});
  for (std::size_t segment = 0; segment < line_.size(); ++segment) {
    const std::int64_t end_ns = line_.EndOf(segment) - origin_ns_;
    std::int64_t at_ns = std::max<std::int64_t>(line_.begin_ns[segment] - origin_ns_, 0);
    while (at_ns < end_ns) {
      const std::int64_t bin = at_ns >> first_level_;
      const std::int64_t until_ns = std::min(end_ns, (bin + 1) << first_level_);
      std::uint16_t& share = levels_.front()[static_cast<std::size_t>(bin)]
                                            [static_cast<std::size_t>(line_.what[segment])];
      // Rounded down: a bin is never more than full.
      share = static_cast<std::uint16_t>(share +
                                         static_cast<double>(until_ns - at_ns) * kWholeBin /
                                             static_cast<double>(std::int64_t{1} << first_level_));
      at_ns = until_ns;
    }
  }
  while (levels_.back().size() > 1) {
    const std::vector<Shares>& below = levels_.back();
    std::vector<Shares> above((below.size() + 1) / 2, Shares{});
    for (std::size_t bin = 0; bin < below.size(); ++bin) {
      for (std::size_t i = 0; i < kNumActivities; ++i) {
        above[bin / 2][i] = static_cast<std::uint16_t>(above[bin / 2][i] + below[bin][i] / 2);
      }
    }
    levels_.push_back(std::move(above));
  }
}

void ActivityMipmap::AddTo(std::span<BinTimes> bins, TileAt at, std::int64_t weight) const {
  if (at.level < first_level_) {
    AddFromLine(bins, at, weight);
    return;
  }
  const auto above = static_cast<std::size_t>(at.level - first_level_);
  if (above >= levels_.size()) {
    AddFromLine(bins, at, weight);  // all of it is in one bin
    return;
  }
  const std::vector<Shares>& level = levels_[above];
  const std::int64_t first = at.tile * static_cast<std::int64_t>(kBins);
  for (std::size_t i = 0; i < kBins; ++i) {
    const auto bin = static_cast<std::size_t>(first) + i;
    if (bin >= level.size()) {
      return;
    }
    for (std::size_t activity = 0; activity < kNumActivities; ++activity) {
      bins[i][activity] +=
          weight * static_cast<std::int64_t>(static_cast<double>(level[bin][activity]) / kWholeBin *
                                             static_cast<double>(at.bin_ns()));
    }
  }
}

void ActivityMipmap::AddFromLine(std::span<BinTimes> bins, TileAt at, std::int64_t weight) const {
  const std::int64_t tile_begin_ns = origin_ns_ + at.begin_ns();
  const std::int64_t tile_end_ns = origin_ns_ + at.end_ns();
  const auto after = std::ranges::upper_bound(line_.begin_ns, tile_begin_ns);
  auto segment = static_cast<std::size_t>(after - line_.begin_ns.begin());
  for (segment -= segment > 0 ? 1 : 0;
       segment < line_.size() && line_.begin_ns[segment] < tile_end_ns; ++segment) {
    const std::int64_t end_ns = std::min(line_.EndOf(segment), tile_end_ns) - tile_begin_ns;
    std::int64_t at_ns = std::max(line_.begin_ns[segment], tile_begin_ns) - tile_begin_ns;
    while (at_ns < end_ns) {
      const std::int64_t bin = at_ns >> at.level;
      const std::int64_t until_ns = std::min(end_ns, (bin + 1) << at.level);
      bins[static_cast<std::size_t>(bin)][static_cast<std::size_t>(line_.what[segment])] +=
          weight * (until_ns - at_ns);
      at_ns = until_ns;
    }
  }
}

std::vector<ActivityRun> RunsOf(std::span<const BinTimes> bins) {
  std::vector<ActivityRun> runs;
  std::int64_t own_ns = 0;
  std::int64_t all_ns = 0;
  for (std::size_t bin = 0; bin < bins.size(); ++bin) {
    const std::int64_t sum_ns =
        std::accumulate(bins[bin].begin(), bins[bin].end(), std::int64_t{0});
    const std::size_t longest = LongestOf(bins[bin]);
    const auto what = sum_ns == 0 ? kOutside : static_cast<std::uint8_t>(longest);
    if (runs.empty() || runs.back().what != what) {
      runs.push_back({static_cast<std::uint16_t>(bin), what, 0});
      own_ns = 0;
      all_ns = 0;
    }
    own_ns += bins[bin][longest];
    all_ns += sum_ns;
    runs.back().share = static_cast<std::uint8_t>(
        all_ns == 0 ? 0
                    : static_cast<double>(own_ns) * kMaxShare / static_cast<double>(all_ns) + 0.5);
  }
  return runs;
}

}  // namespace orrery::api::view
