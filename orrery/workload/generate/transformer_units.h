#pragma once

#include <vector>

#include "orrery/base/error.h"
#include "orrery/workload/generate/stage_units.h"
#include "orrery/workload/generate/step.h"
#include "orrery/workload/generate/unit_memory.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/plan/pipeline_schedule.h"

namespace orrery::workload {

/// The kinds of units that a transformer is made of, and which of them each stage has.
struct ModelUnits {
  std::vector<UnitSteps> kinds;
  std::vector<UnitTensors> tensors;       // by kind
  std::vector<UnitMemory> memory;         // by kind
  std::vector<StageUnits> stages;         // by device of the pipeline
  std::int64_t message_bytes = 0;         // between stages
  std::vector<std::int64_t> tied_bytes;   // by device: gradients of an embedding it shares
};

[[nodiscard]] Result<ModelUnits> TransformerUnits(const Job& job, const PipelineShape& shape);

}  // namespace orrery::workload
