#pragma once

#include <string>

#include "orrery/base/error.h"
#include "orrery/cli/evaluate/output.h"

namespace orrery::cli {

/// Draws what `evaluate kernels` found as one SVG file, light and dark: predicted over measured
/// times of all rows, and how the errors of each operator are spread. There must be a row.
[[nodiscard]] std::string EvaluationPlot(const KernelEvaluationResult& evaluation);

[[nodiscard]] Status WriteEvaluationPlot(const KernelEvaluationResult& evaluation, const std::string& path);

}  // namespace orrery::cli
