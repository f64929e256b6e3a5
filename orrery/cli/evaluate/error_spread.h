#pragma once

#include <vector>

#include "orrery/draw/chart/spread_chart.h"

namespace orrery::cli {

/// How errors in per cent, at least one, are spread: from the 5th to the 95th of a hundred, with
/// their mean in the note.
[[nodiscard]] draw::Spread ErrorSpread(draw::Series series, std::vector<double> errors);

}  // namespace orrery::cli
