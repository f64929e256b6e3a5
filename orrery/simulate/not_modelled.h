#pragma once

#include <string>
#include <vector>

#include "orrery/simulate/simulation.h"
#include "orrery/workload/generate/op_pricing.h"
#include "orrery/workload/job/job.h"

namespace orrery::simulate {

/// Returns what a simulation of this job does not model or is uncertain about, a sentence each, the
/// most important first.
[[nodiscard]] std::vector<std::string> NotModelled(const workload::Job& job,
                                                   const workload::GeneratedJob& generated,
                                                   const SimulationOptions& options);

/// The same of faults of the network, whatever is simulated.
[[nodiscard]] std::vector<std::string> NotModelled(const NetworkFaults& faults);

/// What differs from a job of equal ranks on a network without faults, one phrase each: "rank 7
/// takes 1.3 times as long", "node 3 has 7 of 8 NICs".
[[nodiscard]] std::vector<std::string> WhatIfs(const workload::Job& machine,
                                               const SimulationOptions& options);

}  // namespace orrery::simulate
