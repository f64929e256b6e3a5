#pragma once

#include <string>
#include <vector>

#include "orrery/cli/simulate/imports.h"
#include "orrery/simulate/summary.h"
#include "orrery/workload/job/job.h"

namespace orrery::cli {

/// What `orrery simulate` says of a step.
struct SimulationAnswer {
  std::string title;                   // one line: what was simulated
  const workload::Job* job = nullptr;  // none: a program of another tool
  simulate::StepSummary summary;
  std::int64_t exposed_ps = 0;  // simulate::MeanExposedPs
  std::string bottleneck;
  std::vector<ReplayedRank> replayed = {};
  std::vector<std::string> what_ifs = {};  // simulate::WhatIfs
  std::vector<std::string> remarks = {};
  std::vector<std::string> not_modelled = {};
  double wall_s = 0;
};

/// A page of text.
[[nodiscard]] std::string SimulationText(const SimulationAnswer& answer);

/// One document (docs/formats/simulate-json.md).
[[nodiscard]] std::string SimulationJson(const SimulationAnswer& answer);

}  // namespace orrery::cli
