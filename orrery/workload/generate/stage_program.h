#pragma once

#include <span>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/workload/generate/layer_op.h"
#include "orrery/workload/generate/model_units.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/plan/pipeline_schedule.h"
#include "orrery/workload/program.h"

namespace orrery::workload {

/// The inputs of the program of one pipeline device.
struct StageSource {
  const Job& job;
  const PipelineShape& shape;
  const ModelUnits& model;
  std::span<const UnitOps> kinds;  // those of the model, with costs
  ProgramId program = 0;           // of the model's
  int stage = 0;
  std::vector<LayerOp> optimizer = {};
};

/// Writes the program of one device for one training step.
[[nodiscard]] Result<Program> WriteStageProgram(const StageSource& source);

}  // namespace orrery::workload
