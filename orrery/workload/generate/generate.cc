#include "orrery/workload/generate/generate.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "orrery/workload/generate/dlrm_units.h"
#include "orrery/workload/generate/layer_list_units.h"
#include "orrery/workload/generate/model_units.h"
#include "orrery/workload/generate/optimizer_steps.h"
#include "orrery/workload/generate/rank_groups.h"
#include "orrery/workload/generate/stage_program.h"
#include "orrery/workload/generate/transformer_units.h"

namespace orrery::workload {
namespace {

Result<ModelUnits> UnitsOf(const Job& job, const PipelineShape& shape) {
  if (job.model.transformer() != nullptr) {
    return TransformerUnits(job, shape);
  }
  // Nothing else than data parallelism is known for these; tables have a plan of their own.
  if (job.plan.tp * job.plan.pp * job.plan.cp > 1) {
    return Fail(Error::Kind::kUnsupported,
                "models that are no transformers can only be data-parallel: set plan.tp, plan.pp "
                "and plan.cp to 1");
  }
  return job.model.layer_list() != nullptr ? LayerListUnits(job) : DlrmUnits(job);
}

}  // namespace

Result<GeneratedJob> Generate(const Job& job, const kernel::CostModel& costs) {
  const PipelineShape shape = ShapeOf(job.plan, static_cast<int>(job.microbatches()));
  ORRERY_TRY(ModelUnits units, UnitsOf(job, shape));
  StepPricing pricing(job, costs);
  const std::vector<PricedUnit> kinds = pricing.Price(units.kinds);
  units.tied_bytes.resize(units.stages.size());
  units.table_bytes.resize(units.stages.size());
  GeneratedJob generated;
  for (std::size_t program = 0; program < units.stages.size(); ++program) {
    StageSource source;
    source.job = &job;
    source.kinds = kinds;
    source.shape = shape;
    source.stage = shape.stages > 1 ? static_cast<int>(program) : 0;
    source.units = std::move(units.stages[program]);
    source.message_bytes = units.message_bytes;
    source.tied_bytes = units.tied_bytes[program];
    source.table_bytes = units.table_bytes[program];
    source.tensors = &units.tensors;
    source.memory = &units.memory;
    source.optimizer =
        pricing.Price(OptimizerSteps(job, StageTensors{&source.units, source.tensors}));
    ORRERY_TRY(Program written, WriteStageProgram(source));
    generated.ensemble.programs.push_back(std::move(written));
  }
  AddRanks(job.plan, shape, generated.ensemble);
  if (!units.program_of_rank.empty()) {
    generated.ensemble.program_of_rank = std::move(units.program_of_rank);
  }
  generated.coverage = pricing.coverage();
  return generated;
}

}  // namespace orrery::workload
