#pragma once

#include <string>

#include "orrery/base/error.h"
#include "orrery/overlap/evaluation.h"

namespace orrery::cli {

/// Draws how far off predictions of pairs are, row by row and by kind of kernel, as one SVG file.
[[nodiscard]] Status WriteOverlapPlot(const overlap::OverlapEvaluation& evaluation,
                                      const std::string& path);

}  // namespace orrery::cli
