#pragma once

#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/cli/simulate_options.h"
#include "orrery/workload/ensemble.h"

namespace orrery::cli {

/// The program of another tool, for all ranks.
struct ImportedProgram {
  std::string title;
  workload::Ensemble ensemble;
  std::vector<std::string> notes = {};  // what was left out or taken otherwise
};

/// What the inputs are, by their names and first bytes.
enum class SimulateInput { kJob, kSimai, kChakra, kEcho };

[[nodiscard]] SimulateInput InputKind(const SimulateArguments& arguments);

/// Reads what InputKind found, for the engine; not for kJob.
[[nodiscard]] Result<ImportedProgram> ImportProgram(SimulateInput kind,
                                                    const SimulateArguments& arguments);

/// What another simulator says of its own workload; a page of text, or JSON.
[[nodiscard]] Result<std::string> PlayedWorkload(const SimulateArguments& arguments);

}  // namespace orrery::cli
