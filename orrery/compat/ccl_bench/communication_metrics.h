#pragma once

#include "orrery/compat/ccl_bench/compat.h"

// Communication against all kernels, by name; each tool of the suite with its own list of words.

namespace orrery::compat::ccl_bench {

[[nodiscard]] CompatResult CommunicationRatio(const CompatRun& run);
[[nodiscard]] CompatResult CommunicationFraction(const CompatRun& run);
[[nodiscard]] CompatResult TotalCommunicationTime(const CompatRun& run);
[[nodiscard]] CompatResult CommunicationOverlapRatio(const CompatRun& run);
[[nodiscard]] CompatResult ComputeCommOverlap(const CompatRun& run);

}  // namespace orrery::compat::ccl_bench
