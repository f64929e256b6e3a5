#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "orrery/serve/tiles/activity.h"

namespace orrery::serve {

/// A tile has so many bins of 2^level ns; tile i begins at i · kBins · 2^level after the run's
/// begin.
inline constexpr std::size_t kBins = 512;
inline constexpr int kMaxLevel = 52;  // a bin of 52 days

struct TileAt {
  int level = 0;
  std::int64_t tile = 0;

  [[nodiscard]] std::int64_t bin_ns() const { return std::int64_t{1} << level; }

  [[nodiscard]] std::int64_t begin_ns() const {
    return tile * static_cast<std::int64_t>(kBins) * bin_ns();
  }

  [[nodiscard]] std::int64_t end_ns() const {
    return begin_ns() + static_cast<std::int64_t>(kBins) * bin_ns();
  }
};

/// The last tile of a level that begins no later than 2^62 ns.
[[nodiscard]] std::int64_t LastTile(int level);

using BinTimes = std::array<std::int64_t, kNumActivities>;

/// The time of each activity in bins of a line, at every resolution: bins of the first level hold
/// about four segments, those of each further level two bins.
class ActivityMipmap {
 public:
  /// Times of the line are those of the run; `origin_ns` is the run's begin.
  ActivityMipmap(ActivityLine line, std::int64_t origin_ns);

  /// Adds `weight` times the time of each activity to the bins of a tile.
  void AddTo(std::span<BinTimes> bins, TileAt at, std::int64_t weight) const;

  [[nodiscard]] const ActivityLine& line() const { return line_; }

 private:
  // Times in 2^16ths of a bin, which is what 16 bits hold.
  using Shares = std::array<std::uint16_t, kNumActivities>;

  void AddFromLine(std::span<BinTimes> bins, TileAt at, std::int64_t weight) const;

  ActivityLine line_;
  std::int64_t origin_ns_;
  int first_level_ = 0;
  std::vector<std::vector<Shares>> levels_;
};

/// Neighbouring bins with the same activity.
struct ActivityRun {
  std::uint16_t begin_bin = 0;
  std::uint8_t what = 0;   // an Activity; kOutside
  std::uint8_t share = 0;  // of the time that it has, in 255ths

  bool operator==(const ActivityRun&) const = default;
};

inline constexpr std::uint8_t kOutside = 255;  // nothing was recorded

/// The activity with the most time in each bin.
[[nodiscard]] std::vector<ActivityRun> RunsOf(std::span<const BinTimes> bins);

}  // namespace orrery::serve
