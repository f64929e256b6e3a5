#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/workload/generate/data_parallel_communication.h"
#include "orrery/workload/generate/priced_unit.h"
#include "orrery/workload/generate/program_writer.h"
#include "orrery/workload/generate/stage_units.h"
#include "orrery/workload/generate/unit_memory.h"
#include "orrery/workload/plan/pipeline_schedule.h"

namespace orrery::workload {

/// All that the program of one device of a pipeline is made of.
struct StageSource {
  const Job* job = nullptr;
  std::span<const PricedUnit> kinds = {};
  PipelineShape shape = {};
  int stage = 0;
  StageUnits units = {};
  const std::vector<UnitTensors>* tensors = nullptr;  // by kind
  const std::vector<UnitMemory>* memory = nullptr;    // by kind
  std::int64_t message_bytes = 0;                     // between stages, of one micro-batch
  std::vector<PricedOp> optimizer = {};               // norm of gradients, update
  std::int64_t table_bytes = 0;                       // of embedding tables that are not replicated
  std::int64_t tied_bytes = 0;  // gradients of an embedding that two stages share
};

/// Writes what one device does in one training step.
[[nodiscard]] Result<Program> WriteStageProgram(const StageSource& source);

}  // namespace orrery::workload
