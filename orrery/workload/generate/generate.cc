#include "orrery/workload/generate/generate.h"

#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "orrery/hardware/gpu.h"
#include "orrery/workload/generate/dlrm_units.h"
#include "orrery/workload/generate/layer_list_units.h"
#include "orrery/workload/generate/model_units.h"
#include "orrery/workload/generate/optimizer_ops.h"
#include "orrery/workload/generate/rank_groups.h"
#include "orrery/workload/generate/stage_program.h"
#include "orrery/workload/generate/transformer_units.h"
#include "orrery/workload/job/other_gpus.h"

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

/// Writes programs for one kind of GPU.
class GpuPrograms {
 public:
  GpuPrograms(const Job& job, const kernel::CostModel& costs, const PipelineShape& shape,
              const ModelUnits& units)
      : job_(job),
        shape_(shape),
        units_(units),
        pricing_(job, costs),
        kinds_(pricing_.Price(units.kinds)) {}

  Result<Program> Write(ProgramId stage) {
    StageSource source;
    source.job = &job_;
    source.kinds = kinds_;
    source.shape = shape_;
    source.stage = shape_.stages > 1 ? static_cast<int>(stage) : 0;
    source.units = units_.stages[stage];
    source.message_bytes = units_.message_bytes;
    source.tied_bytes = units_.tied_bytes[stage];
    source.table_bytes = units_.table_bytes[stage];
    source.tensors = &units_.tensors;
    source.memory = &units_.memory;
    source.optimizer =
        pricing_.Price(OptimizerOps(job_, StageTensors{&source.units, source.tensors}));
    return WriteStageProgram(source);
  }

  [[nodiscard]] const PriceCoverage& coverage() const { return pricing_.coverage(); }

 private:
  const Job& job_;
  const PipelineShape& shape_;
  const ModelUnits& units_;
  OpPricing pricing_;
  std::vector<PricedUnit> kinds_;
};

// Splits the programs of ranks by the GPUs that they have: ranks of `gpu`, which had programs of
// stages, get programs of their own after those that there are. Returns the stages that they run.
std::vector<ProgramId> StagesOn(const hardware::Gpu& gpu, const Job& job,
                                const std::vector<ProgramId>& stage_of_rank, Ensemble& ensemble) {
  const auto has_gpu = [&](Rank rank) { return GpuOfRank(job, rank).name == gpu.name; };
  std::map<ProgramId, ProgramId> program_of_stage;
  for (Rank rank = 0; rank < ensemble.num_ranks(); ++rank) {
    if (has_gpu(rank)) {
      program_of_stage[stage_of_rank[rank]] = 0;
    }
  }
  std::vector<ProgramId> stages;
  for (auto& [stage, program] : program_of_stage) {
    program = static_cast<ProgramId>(ensemble.programs.size() + stages.size());
    stages.push_back(stage);
  }
  for (Rank rank = 0; rank < ensemble.num_ranks(); ++rank) {
    if (has_gpu(rank)) {
      ensemble.program_of_rank[rank] = program_of_stage[stage_of_rank[rank]];
    }
  }
  return stages;
}

/// All that programs are made of, whatever the GPU.
struct ProgramSource {
  const kernel::CostModel& costs;
  const PipelineShape& shape;
  const ModelUnits& units;
};

Status AddPrograms(const Job& job, const ProgramSource& source,
                   const std::vector<ProgramId>& stages, GeneratedJob& generated) {
  GpuPrograms programs(job, source.costs, source.shape, source.units);
  for (const ProgramId stage : stages) {
    ORRERY_TRY(Program written, programs.Write(stage));
    generated.ensemble.programs.push_back(std::move(written));
  }
  generated.coverage.push_back(programs.coverage());
  return {};
}

Status AddMixedPrograms(const Job& job, const ProgramSource& source, GeneratedJob& generated) {
  Ensemble& ensemble = generated.ensemble;
  const std::vector<ProgramId> stage_of_rank = ensemble.program_of_rank;
  for (const GpuCount& count : GpusOf(job)) {
    const std::vector<ProgramId> stages = StagesOn(*count.gpu, job, stage_of_rank, ensemble);
    if (stages.empty()) {
      continue;
    }
    Job of_gpu = job;
    of_gpu.gpu = *count.gpu;
    ensemble.stage_of_program.insert(ensemble.stage_of_program.end(), stages.begin(), stages.end());
    ORRERY_TRY_STATUS(AddPrograms(of_gpu, source, stages, generated));
  }
  return {};
}

}  // namespace

Result<GeneratedJob> Generate(const Job& job, const kernel::CostModel& costs) {
  const PipelineShape shape = ShapeOf(job.plan, static_cast<int>(job.microbatches()));
  ORRERY_TRY(ModelUnits units, UnitsOf(job, shape));
  units.tied_bytes.resize(units.stages.size());
  units.table_bytes.resize(units.stages.size());
  GeneratedJob generated;
  AddRanks(job.plan, shape, generated.ensemble);
  if (!units.program_of_rank.empty()) {
    generated.ensemble.program_of_rank = std::move(units.program_of_rank);
  }
  const ProgramSource source{costs, shape, units};
  if (!job.other_gpus.empty()) {
    ORRERY_TRY_STATUS(AddMixedPrograms(job, source, generated));
    return generated;
  }
  std::vector<ProgramId> stages(units.stages.size());
  std::iota(stages.begin(), stages.end(), 0);
  ORRERY_TRY_STATUS(AddPrograms(job, source, stages, generated));
  return generated;
}

}  // namespace orrery::workload
