#pragma once

#include <string>
#include <string_view>

#include "orrery/calibrate/validation.h"

namespace orrery::calibrate {

// A process that simulates a row for another one sends back what its own table does not tell: the
// times and what was chosen where the row leaves something open. Both have the same table.

[[nodiscard]] std::string EncodeOutcome(const EvaluatedRun& evaluated);

/// Completes a run as it was read from the table. The bytes are those of EncodeOutcome.
void ApplyOutcome(std::string_view outcome, EvaluatedRun& evaluated);

}  // namespace orrery::calibrate
