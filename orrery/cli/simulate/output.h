#pragma once

#include <string>
#include <vector>

#include "orrery/cli/simulate/imports.h"
#include "orrery/report/document.h"
#include "orrery/simulate/summary.h"
#include "orrery/workload/job/job.h"

namespace orrery::cli {

/// The result of `orrery simulate`.
struct SimulationAnswer {
  std::string name;                    // of the job
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

/// JSON: docs/formats/simulate-json.md. Pictures are drawn where `simulated` is given.
[[nodiscard]] report::Document SimulationDocument(const SimulationAnswer& answer,
                                                  const simulate::SimulatedStep* simulated);

}  // namespace orrery::cli
