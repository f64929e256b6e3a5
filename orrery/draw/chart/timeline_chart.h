#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "orrery/draw/chart/series.h"

namespace orrery::draw {

struct TimelineSlice {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::uint8_t series = 0;
  std::string tip = {};    // in addition to name and duration, where slices are drawn one by one
  std::string label = {};  // in the slice, where it fits
};

/// Slices in order of begin that do not overlap; between them is the background. `strip` is what
/// happens inside of slices, a thin line below them; drawn as pixels in any number.
struct TimelineRow {
  std::string label;
  std::vector<TimelineSlice> slices = {};
  std::vector<TimelineSlice> strip = {};
};

/// A line from one row to another at one instant.
struct TimelineJump {
  std::int64_t time_ns = 0;
  std::size_t from_row = 0;
  std::size_t to_row = 0;
};

struct TimelineChart {
  std::vector<Series> series;
  Series background;
  std::vector<TimelineRow> rows;
  std::vector<TimelineJump> jumps = {};
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::string description;
  /// Where a pixel holds several things: false: what lasts longest; true: a slice before the
  /// background, for slices that must not vanish.
  bool slices_first = false;
  double row_height = 0;  // at least so many pixels from row to row, where rows are not shared
};

/// Up to this many slices are drawn one by one, each with a text for the pointer.
inline constexpr std::size_t kMaxSingleSlices = 3'000;

/// Draws what happened in each row over time. Above kMaxSingleSlices the picture is made of pixels,
/// and beyond a few hundred rows one row stands for several (what most of them do).
[[nodiscard]] std::string RenderTimeline(const TimelineChart& chart);

}  // namespace orrery::draw
