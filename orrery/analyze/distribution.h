#pragma once

#include <vector>

#include "orrery/base/value.h"

namespace orrery::analyze {

/// Describes values for a detail: count, mean, min, p50, p90, p99, max; without values the count
/// alone.
[[nodiscard]] Value Distribution(std::vector<double> values);

}  // namespace orrery::analyze
