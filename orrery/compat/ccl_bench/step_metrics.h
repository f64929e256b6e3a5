#pragma once

#include "orrery/compat/ccl_bench/compat.h"

namespace orrery::compat::ccl_bench {

[[nodiscard]] CompatResult AvgStepTime(const CompatRun& run);
[[nodiscard]] CompatResult Mfu(const CompatRun& run);
[[nodiscard]] CompatResult Ttft(const CompatRun& run);
[[nodiscard]] CompatResult Tpot(const CompatRun& run);
[[nodiscard]] CompatResult GpuStepScore(const CompatRun& run);

}  // namespace orrery::compat::ccl_bench
