#pragma once

#include "orrery/analyze/ccl_bench/compat.h"

namespace orrery::analyze::ccl_bench {

[[nodiscard]] CompatResult MemoryTransferOverhead(const CompatRun& run);
[[nodiscard]] CompatResult AverageMemoryBandwidth(const CompatRun& run);
[[nodiscard]] CompatResult MemoryBoundFraction(const CompatRun& run);

}  // namespace orrery::analyze::ccl_bench
