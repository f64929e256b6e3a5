#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/simulate/simulation.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/job/job.h"

namespace orrery::simulate {

/// Utilisation of links over a step.
struct LinkUtilisation {
  struct Link {
    std::string name;
    double mean = 0;                   // share of its bandwidth over the step
    std::vector<double> by_time = {};  // the same in equal parts of the step
  };

  std::vector<Link> links = {};  // those that carry something, the busiest first
  std::size_t num_links = 0;     // that do, of which `links` may be the first
};

/// Adds up the transfers of a step that was simulated with shared links or flows: each takes its
/// share of its links evenly from its begin to its end. `most_links` are kept. Nothing where each
/// transfer had the network to itself.
[[nodiscard]] Result<LinkUtilisation> UtilisationOf(const workload::Job& machine,
                                                    const workload::Ensemble& ensemble,
                                                    const SimulationOptions& options,
                                                    const Simulation& simulation, std::size_t parts,
                                                    std::size_t most_links);

}  // namespace orrery::simulate
