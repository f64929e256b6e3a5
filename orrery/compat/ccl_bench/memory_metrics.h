#pragma once

#include "orrery/compat/ccl_bench/compat.h"

namespace orrery::compat::ccl_bench {

[[nodiscard]] CompatResult MemoryTransferOverhead(const CompatRun& run);
[[nodiscard]] CompatResult AverageMemoryBandwidth(const CompatRun& run);
[[nodiscard]] CompatResult MemoryBoundFraction(const CompatRun& run);

}  // namespace orrery::compat::ccl_bench
