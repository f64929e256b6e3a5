#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "orrery/draw/chart/series.h"
#include "orrery/draw/chart/ticks.h"

namespace orrery::draw {

/// Parts of one whole, in the order of the chart's series.
struct StackedBar {
  std::string label;
  std::vector<double> values = {};
  std::string note = {};      // at the end of the bar
  bool stands_apart = false;  // some room follows: a mean above its parts
};

struct StackedBars {
  std::vector<Series> series;
  std::vector<StackedBar> bars;
  Quantity quantity = Quantity::kNumber;
  std::string description;
  std::string title_along = {};  // of the axis along the columns
  double along_end = 0;          // what the columns span together; 0: their number
  Quantity along_quantity = Quantity::kNumber;
  std::string roof_label = {};  // of a level to compare columns with; empty: none
  double roof = 0;
  bool has_axis = true;  // of bars; columns always have theirs
};

/// Draws one horizontal bar a row, with shares in the parts that have room. For a few dozen bars.
[[nodiscard]] std::string RenderStackedBars(const StackedBars& chart);

/// Draws the bars as thin upright columns side by side; above `max_columns` neighbours are
/// averaged, so the number of elements is bounded whatever the number of bars.
[[nodiscard]] std::string RenderStackedColumns(const StackedBars& chart,
                                               std::size_t max_columns = 520);

}  // namespace orrery::draw
