#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "orrery/draw/chart/series.h"
#include "orrery/draw/chart/svg_writer.h"

namespace orrery::draw {

/// Many rectangles of few colours as one path for each colour: a hundred thousand tiles are a
/// handful of elements.
class TileLayer {
 public:
  explicit TileLayer(std::size_t num_series) : path_of_series_(num_series) {}

  void Add(const Box& box, std::size_t series);

  /// Draws the series that have tiles; the pointer gets their names.
  void Draw(const std::vector<Series>& series, SvgWriter& svg) const;

 private:
  std::vector<std::string> path_of_series_;
};

}  // namespace orrery::draw
