#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/cli/simulate/options.h"
#include "orrery/report/document.h"
#include "orrery/simulate/memory_timeline.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/job/job.h"

namespace orrery::cli {

/// A recorded rank that is simulated, and how its recording was read.
struct ReplayedRank {
  workload::Rank rank = 0;
  double step_ms = 0;           // measured without the profiler, alone
  double profiler_cost_us = 0;  // of the host's time for each recorded event
  std::string cost_source = {};
};

/// The program of another tool, for all ranks.
struct ImportedProgram {
  std::string title;
  workload::Ensemble ensemble;
  std::vector<std::string> notes = {};    // what was left out or taken otherwise
  std::vector<std::string> remarks = {};  // what else there is to say
  std::string gpu = {};                   // for which it was recorded; empty: that of the cluster
  std::string framework = {};             // it runs in; empty: none that is known
  int steps_before = 0;                   // see simulate::SimulationOptions
  std::int64_t samples_per_step = 0;      // of all ranks; 0: not known
  std::int64_t tokens_per_sample = 0;
  std::optional<workload::Job> described =
      {};  // its model and batch, on the GPUs that simulation it
  std::vector<ReplayedRank> replayed = {};
  std::vector<simulate::StageMemory> memory_of_program = {};  // recorded; empty: not known
};

/// What the inputs are, by their names and first bytes.
enum class SimulateInput { kJob, kSimai, kChakra, kEcho, kTraced };

[[nodiscard]] SimulateInput InputKind(const SimulateArguments& arguments);

/// Reads what InputKind found, for the engine; not for kJob.
[[nodiscard]] Result<ImportedProgram> ImportProgram(SimulateInput kind,
                                                    const SimulateArguments& arguments);

/// The step of a workload according to the simulator that it is for.
[[nodiscard]] Result<report::Document> EmulatedWorkload(const SimulateArguments& arguments);

}  // namespace orrery::cli
