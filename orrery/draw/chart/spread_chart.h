#pragma once

#include <string>
#include <vector>

#include "orrery/draw/chart/series.h"
#include "orrery/draw/chart/ticks.h"

namespace orrery::draw {

/// How the values of one series are spread.
struct Spread {
  Series series;
  double smallest = 0;
  double lower_quartile = 0;
  double median = 0;
  double upper_quartile = 0;
  double largest = 0;
  std::string note = {};  // at the right: who the extremes are
};

struct SpreadChart {
  std::vector<Spread> rows;
  Quantity quantity = Quantity::kNumber;
  std::string description;
};

/// Draws a row for each spread: a bar up to the median, a line from the smallest to the largest
/// value, thick over the middle half.
[[nodiscard]] std::string RenderSpreadChart(const SpreadChart& chart);

}  // namespace orrery::draw
