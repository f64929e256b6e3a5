#pragma once

#include <string>

#include "orrery/base/table.h"
#include "orrery/simulate/validation.h"

namespace orrery::cli {

/// Errors by source, grade, GPU, scale and dimension, the worst rows, what was refused and why.
[[nodiscard]] std::string ValidationText(const simulate::Validation& validation);

/// One JSON document; docs/formats/validate-json.md.
[[nodiscard]] std::string ValidationJson(const simulate::Validation& validation);

/// One line for each row that was asked for: what was measured and predicted, or why it was
/// refused.
[[nodiscard]] Table ValidationTable(const simulate::Validation& validation);

}  // namespace orrery::cli
