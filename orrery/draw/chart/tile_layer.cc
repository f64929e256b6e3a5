#include "orrery/draw/chart/tile_layer.h"

#include "orrery/base/check.h"

namespace orrery::draw {

void TileLayer::Add(const Box& box, std::size_t series) {
  std::string& path = path_of_series_[series];
  path += 'M';
  AppendCoordinate(box.x, path);
  path += ' ';
  AppendCoordinate(box.y, path);
  path += 'h';
  AppendCoordinate(box.width, path);
  path += 'v';
  AppendCoordinate(box.height, path);
  path += 'h';
  AppendCoordinate(-box.width, path);
  path += 'z';
}

void TileLayer::Draw(const std::vector<Series>& series, SvgWriter& svg) const {
  ORRERY_CHECK(series.size() == path_of_series_.size(), "each series has its tiles");
  for (std::size_t i = 0; i < series.size(); ++i) {
    if (!path_of_series_[i].empty()) {
      svg.Path(path_of_series_[i], {.style = series[i].style, .tip = series[i].name});
    }
  }
}

}  // namespace orrery::draw
