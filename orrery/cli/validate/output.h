#pragma once

#include "orrery/report/document.h"
#include "orrery/simulate/validation.h"

namespace orrery::cli {

/// Errors by source, grade, GPU, scale and dimension, the worst rows, what was refused and why. Its
/// CSV has one line for each row: measured and predicted, or the reason for the refusal. JSON:
/// docs/formats/validate-json.md.
[[nodiscard]] report::Document ValidationDocument(const simulate::Validation& validation);

}  // namespace orrery::cli
