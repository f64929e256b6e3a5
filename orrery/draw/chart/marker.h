#pragma once

#include <cstddef>
#include <string>

#include "orrery/draw/chart/svg_writer.h"

namespace orrery::draw {

/// Returns the path of a mark around `centre`: circle, square, triangle, diamond, a triangle upside
/// down, a cross; then again. Shapes tell series apart where colours do not.
[[nodiscard]] std::string MarkerPath(std::size_t series, Point centre, double radius);

}  // namespace orrery::draw
