#pragma once

#include <string>

#include "orrery/simulate/summary.h"

namespace orrery::simulate {

/// Says in one sentence what the step waits for most, and what would help. A job that does not fit
/// into memory has no other bottleneck.
[[nodiscard]] std::string BottleneckSentence(const StepSummary& summary);

}  // namespace orrery::simulate
