#include "orrery/workload/generate/generate.h"

#include <utility>
#include <vector>

#include "orrery/workload/generate/optimizer_steps.h"
#include "orrery/workload/generate/rank_groups.h"
#include "orrery/workload/generate/stage_program.h"
#include "orrery/workload/generate/transformer_units.h"

namespace orrery::workload {
Result<GeneratedJob> Generate(const Job& job, const kernel::CostModel& costs) {
  const PipelineShape shape = ShapeOf(job.plan, static_cast<int>(job.microbatches()));
  if (job.model.transformer() == nullptr) {
    return Fail(Error::Kind::kUnsupported, "only transformers can be simulated so far");
  }
  ORRERY_TRY(ModelUnits units, TransformerUnits(job, shape));
  StepPricing pricing(job, costs);
  const std::vector<PricedUnit> kinds = pricing.Price(units.kinds);
  GeneratedJob generated;
  for (int stage = 0; stage < shape.stages; ++stage) {
    const auto index = static_cast<std::size_t>(stage);
    StageSource source;
    source.job = &job;
    source.kinds = kinds;
    source.shape = shape;
    source.stage = stage;
    source.units = std::move(units.stages[index]);
    source.message_bytes = units.message_bytes;
    source.tied_bytes = units.tied_bytes[index];
    source.tensors = &units.tensors;
    source.memory = &units.memory;
    source.optimizer =
        pricing.Price(OptimizerSteps(job, StageTensors{&source.units, source.tensors}));
    ORRERY_TRY(Program program, WriteStageProgram(source));
    generated.ensemble.programs.push_back(std::move(program));
  }
  AddRanks(job.plan, shape, generated.ensemble);
  generated.coverage = pricing.coverage();
  return generated;
}

}  // namespace orrery::workload
