#pragma once

#include "orrery/compat/ccl_bench/compat.h"

namespace orrery::compat::ccl_bench {

/// `bandwidth_utilization_peertopeer_group_6`: link counters of nsys while the model runs.
[[nodiscard]] CompatResult PeerToPeerBandwidth(const CompatRun& run);

}  // namespace orrery::compat::ccl_bench
