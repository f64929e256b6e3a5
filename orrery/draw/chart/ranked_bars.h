#pragma once

#include <string>
#include <vector>

#include "orrery/draw/chart/series.h"
#include "orrery/draw/chart/ticks.h"

namespace orrery::draw {

/// A bar with a long name.
struct RankedBar {
  std::string label;
  double value = 0;
  std::string note = {};  // behind the bar
  std::string tip = {};   // for the pointer
};

struct RankedBars {
  Series series;
  std::vector<RankedBar> bars = {};
  Quantity quantity = Quantity::kNumber;
  std::string description = {};
};

/// Draws a bar a row, with room for names of functions in front. For a few dozen bars; without any
/// there is no picture.
[[nodiscard]] std::string RenderRankedBars(const RankedBars& chart);

}  // namespace orrery::draw
