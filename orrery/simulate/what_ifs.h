#pragma once

#include <string>
#include <vector>

#include "orrery/simulate/simulation.h"
#include "orrery/workload/job/job.h"

namespace orrery::simulate {

/// What differs from a job of equal ranks on a network without faults, one phrase each: "rank 7
/// takes 1.3 times as long", "node 3 has 7 of 8 NICs".
[[nodiscard]] std::vector<std::string> WhatIfs(const workload::Job& machine,
                                               const SimulationOptions& options);

}  // namespace orrery::simulate
