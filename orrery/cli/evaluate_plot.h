#pragma once

#include <string>

#include "orrery/base/error.h"
#include "orrery/cli/evaluate_output.h"

namespace orrery::cli {

/// Draws what `evaluate kernels` found as one SVG file, light and dark: predicted over measured
/// times of all rows, and how the errors of each operator are spread. There must be a row.
[[nodiscard]] std::string JudgementPlot(const KernelJudgement& judgement);

[[nodiscard]] Status WriteJudgementPlot(const KernelJudgement& judgement, const std::string& path);

}  // namespace orrery::cli
