#pragma once

#include <cstdint>
#include <vector>

#include "orrery/workload/ensemble.h"
#include "orrery/workload/generate/layer_op.h"
#include "orrery/workload/generate/stage_units.h"
#include "orrery/workload/generate/unit_memory.h"

namespace orrery::workload {

/// The kinds of units that a model is made of, and which of them each program runs: one for each
/// device of the pipeline, or as `program_of_rank` says.
struct ModelUnits {
  std::vector<UnitOps> kinds;
  std::vector<UnitTensors> tensors;             // by kind
  std::vector<UnitMemory> memory;               // by kind
  std::vector<StageUnits> stages;               // by program
  std::int64_t message_bytes = 0;               // between stages
  std::vector<std::int64_t> tied_bytes = {};    // by program: gradients of an embedding it shares
  std::vector<std::int64_t> table_bytes = {};   // by program: parts of tables it holds
  std::vector<ProgramId> program_of_rank = {};  // where ranks of a stage differ
};

}  // namespace orrery::workload
