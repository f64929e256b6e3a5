#pragma once

#include <string>

#include "orrery/base/error.h"
#include "orrery/compat/echo/evaluation.h"

namespace orrery::cli {

/// Draws how the errors of all predictors are spread, overlapped rows with slowdowns held out, as
/// one SVG file.
[[nodiscard]] Status WriteEchoPlot(const compat::echo::Evaluation& evaluation,
                                   const std::string& path);

}  // namespace orrery::cli
