#pragma once

#include <string>

#include "orrery/cli/evaluate_output.h"

namespace orrery::cli {

// What `evaluate all` prints: one line for each family of models, so far kernels by what their
// measured times hold.

[[nodiscard]] std::string FamiliesText(const KernelJudgement& judgement);

/// One JSON document; docs/formats/evaluate-json.md.
[[nodiscard]] std::string FamiliesJson(const KernelJudgement& judgement);

}  // namespace orrery::cli
