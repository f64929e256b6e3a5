#pragma once

#include <string>

#include "orrery/simulate/validation.h"

namespace orrery::cli {

/// An SVG picture: predicted against measured step times, by source, and how errors are spread.
[[nodiscard]] std::string ValidationPlot(const simulate::Validation& validation);

}  // namespace orrery::cli
