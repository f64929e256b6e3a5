#pragma once

#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/cli/simulate_options.h"
#include "orrery/simulate/memory_answer.h"
#include "orrery/workload/ensemble.h"

namespace orrery::cli {

/// The program of another tool, for all ranks.
struct ImportedProgram {
  std::string title;
  workload::Ensemble ensemble;
  std::vector<std::string> notes = {};    // what was left out or taken otherwise
  std::vector<std::string> remarks = {};  // what else there is to say
  std::string gpu = {};                   // for which it was recorded; empty: that of the cluster
  std::string framework = {};             // it runs in; empty: none that is known
  int steps_before = 0;                   // see simulate::SimulationOptions
  std::vector<simulate::StageMemory> memory_of_program = {};  // recorded; empty: not known
};

/// What the inputs are, by their names and first bytes.
enum class SimulateInput { kJob, kSimai, kChakra, kEcho, kTraced };

[[nodiscard]] SimulateInput InputKind(const SimulateArguments& arguments);

/// Reads what InputKind found, for the engine; not for kJob.
[[nodiscard]] Result<ImportedProgram> ImportProgram(SimulateInput kind,
                                                    const SimulateArguments& arguments);

/// What another simulator says of its own workload; a page of text, or JSON.
[[nodiscard]] Result<std::string> PlayedWorkload(const SimulateArguments& arguments);

}  // namespace orrery::cli
