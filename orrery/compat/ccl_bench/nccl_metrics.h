#pragma once

#include "orrery/compat/ccl_bench/compat.h"

namespace orrery::compat::ccl_bench {

[[nodiscard]] CompatResult CollCallNum(const CompatRun& run);
[[nodiscard]] CompatResult CommunicationOverhead(const CompatRun& run);
[[nodiscard]] CompatResult Straggler(const CompatRun& run);
[[nodiscard]] CompatResult StragglerMetrics(const CompatRun& run);
[[nodiscard]] CompatResult TrafficWindow(const CompatRun& run);

}  // namespace orrery::compat::ccl_bench
