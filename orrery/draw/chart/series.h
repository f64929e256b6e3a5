#pragma once

#include <string>
#include <vector>

namespace orrery::draw {

/// One kind of thing in a chart: its name for people and the style that colours it.
struct Series {
  std::string name;
  std::string style;
  std::string swatch = {};  // a path in 14 × 14 for the legend; empty: a square
};

/// Returns a small picture of the colour or shape of a series.
[[nodiscard]] std::string RenderSwatch(const Series& series);

/// Returns a legend: an HTML list with a swatch for each series.
[[nodiscard]] std::string RenderLegend(const std::vector<Series>& series);

}  // namespace orrery::draw
