#pragma once

#include <string>
#include <vector>

#include "orrery/simulate/simulation.h"
#include "orrery/workload/generate/op_pricing.h"
#include "orrery/workload/job/job.h"

namespace orrery::simulate {

/// Says what a simulation of this job leaves out or is unsure of, a sentence each, what may matter
/// most first.
[[nodiscard]] std::vector<std::string> NotModelled(const workload::Job& job,
                                                   const workload::GeneratedJob& generated,
                                                   const SimulationOptions& options);

/// The same of faults of the network, whatever is simulated.
[[nodiscard]] std::vector<std::string> NotModelled(const NetworkFaults& faults);

}  // namespace orrery::simulate
