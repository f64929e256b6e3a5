#pragma once

#include <cstdint>

#include "orrery/memory/uvm/residency.h"
#include "orrery/memory/uvm/workload.h"

namespace orrery::memory::uvm {

/// Returns the fewest page-ins that any policy can have: single pages, and what is needed last
/// leaves first (Belady). A page that is needed later than all others need not stay after its
/// touch, so the bound holds for prefetching too. `evictions` counts pages. Pages that are always
/// touched together are handled together: costs a step for each of these and touch, and a sort.
[[nodiscard]] Movement OracleMovement(const Workload& workload, std::int64_t capacity_bytes,
                                      int iterations);

}  // namespace orrery::memory::uvm
