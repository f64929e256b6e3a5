#pragma once

#include <string>
#include <vector>

#include "orrery/simulate/summary.h"
#include "orrery/workload/job/job_facts.h"

namespace orrery::report {

/// What the page of a simulated step says.
struct SimulationPage {
  std::string title;
  std::string line;  // what was simulated, in one line
  simulate::SimulatedStep simulated;
  const simulate::StepSummary* summary = nullptr;
  std::string bottleneck;
  std::vector<workload::JobFact> settings = {};
  std::vector<std::string> remarks = {};  // what else there is to say of what was simulated
  std::vector<std::string> not_modelled = {};
};

/// Returns one HTML file that fetches nothing; its size is bounded whatever the job.
[[nodiscard]] std::string RenderSimulationPage(const SimulationPage& page);

}  // namespace orrery::report
