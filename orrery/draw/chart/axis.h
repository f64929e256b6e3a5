#pragma once

#include <string_view>
#include <vector>

#include "orrery/draw/chart/svg_writer.h"
#include "orrery/draw/chart/ticks.h"

namespace orrery::draw {

/// Maps values from `low` to `high` to places from `first` to `last` of a picture. A domain without
/// extent maps to the middle.
struct Scale {
  enum class Kind { kLinear, kLog };

  Kind kind = Kind::kLinear;
  double low = 0;
  double high = 1;
  double first = 0;
  double last = 1;

  [[nodiscard]] double operator()(double value) const;
};

struct Axis {
  Scale scale;
  Quantity quantity = Quantity::kNumber;
  std::string_view title = {};
  int max_ticks = 8;

  [[nodiscard]] std::vector<double> Ticks() const;
};

/// Draws tick texts and the title under `plot`, and grid lines through it.
void DrawHorizontalAxis(const Axis& axis, const Box& plot, SvgWriter& svg);

/// Draws tick texts to the left of `plot`, the title above them, and grid lines through it.
void DrawVerticalAxis(const Axis& axis, const Box& plot, SvgWriter& svg);

/// Tells the page how to read the place of the pointer: what is under it along x.
void AddHoverAlongX(const Scale& scale, Quantity quantity, SvgWriter& svg);

}  // namespace orrery::draw
