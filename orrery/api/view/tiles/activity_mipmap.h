#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "orrery/api/view/tiles/activity.h"
#include "orrery/api/view/tiles/tile_at.h"

namespace orrery::api::view {

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

}  // namespace orrery::api::view
