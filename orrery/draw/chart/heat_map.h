#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "orrery/draw/chart/series.h"
#include "orrery/draw/chart/ticks.h"

namespace orrery::draw {

/// A range of values that share a colour: above the level before, up to `limit`.
struct HeatLevel {
  double limit = 0;
  Series series;
};

/// Returns levels whose limits go 1, 3, 10, 30, … up to `largest` or just above it; styles are
/// `style` with the number of the level, from 0.
[[nodiscard]] std::vector<HeatLevel> LogLevels(double largest, std::size_t num_levels,
                                               const std::string& style, Quantity quantity);

struct HeatMap {
  std::vector<std::string> row_labels;
  std::vector<std::string> column_labels;  // for the pointer
  std::vector<double> values;              // row by row; NaN: nothing there
  std::vector<HeatLevel> levels;
  Quantity quantity = Quantity::kNumber;
  std::string column_title;
  std::string description;
};

/// Draws values as coloured cells. Where there are more rows or columns than room, a cell shows the
/// largest value of those it stands for; above a few thousand cells there is a path for each
/// colour.
[[nodiscard]] std::string RenderHeatMap(const HeatMap& map);

}  // namespace orrery::draw
