#include "orrery/workload/generate/generate.h"

#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/work.h"
#include "orrery/workload/generate/block_ops.h"
#include "orrery/workload/generate/dlrm_units.h"
#include "orrery/workload/generate/layer_writer.h"
#include "orrery/workload/generate/microbatch_shape.h"
#include "orrery/workload/generate/model_units.h"
#include "orrery/workload/generate/optimizer_ops.h"
#include "orrery/workload/generate/rank_groups.h"
#include "orrery/workload/generate/stage_program.h"
#include "orrery/workload/generate/unfused.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/other_gpus.h"
#include "orrery/workload/model/listed_layers.h"
#include "orrery/workload/plan/activation_memory.h"
#include "orrery/workload/plan/parameter_tensors.h"
#include "orrery/workload/plan/pipeline_schedule.h"
#include "orrery/workload/plan/stage_layers.h"

namespace orrery::workload {
namespace {

constexpr std::string_view kEnds = "activations of embedding and head";

class UnitsBuilder {
 public:
  UnitsBuilder(const Job& job, const Transformer& model, const PipelineShape& shape)
      : job_(job), model_(model), shape_(shape), microbatch_(MicrobatchShapeOf(job, model)) {}

  Result<ModelUnits> Build() {
    AddKinds();
    ORRERY_TRY_STATUS(DealUnits());
    units_.message_bytes = microbatch_.tokens * microbatch_.hidden * microbatch_.element_bytes /
                           (job_.plan.sequence_parallel ? microbatch_.tp : 1);
    return std::move(units_);
  }

 private:
  // `adapters` are what is trained of it where the rest is frozen.
  std::size_t AddKind(UnitOps steps, const std::vector<ParameterTensor>& tensors, UnitMemory memory,
                      const std::vector<ParameterTensor>& adapters = {}) {
    memory.weight_inputs = steps.weight_inputs;
    units_.memory.push_back(memory);
    units_.tensors.push_back(microbatch_.is_frozen() ? FrozenTensors(tensors, adapters, job_.plan)
                                                     : LocalTensors(tensors, job_.plan));
    if (job_.framework.copies_shards && job_.plan.sharding == Sharding::kParameters) {
      AddCopiesOfShards(units_.tensors.back().parameters().dense, microbatch_, steps);
    }
    units_.kinds.push_back(std::move(steps));
    return units_.kinds.size() - 1;
  }

  void AddKinds() {
    const std::int64_t vocabulary = PaddedVocabulary(job_, model_);
    embedding_ = AddKind(EmbeddingOps(microbatch_, model_), EmbeddingTensors(model_, vocabulary),
                         EmbeddingMemory());
    for (const auto* runs : {&model_.encoder, &model_.blocks}) {
      for (const BlockRun& run : *runs) {
        const std::size_t kind =
            AddKind(BlockOps(microbatch_, model_, run.block), TensorsOf(run.block, model_.hidden),
                    BlockMemory(run.block),
                    AdapterTensors(run.block, model_.hidden, job_.training.adapter_rank));
        kind_of_block_.insert(kind_of_block_.end(), static_cast<std::size_t>(run.count), kind);
      }
    }
    if (model_.extra_predictions > 0) {
      AddExtraPrediction(vocabulary);
    }
    // A head that is the embedding has parameters of its own where it is on another stage.
    head_ = AddKind(HeadOps(microbatch_, model_),
                    HeadTensors(model_, vocabulary, model_.is_tied && shape_.stages > 1),
                    HeadMemory(vocabulary));
  }

  void AddExtraPrediction(std::int64_t vocabulary) {
    const Block& block = model_.blocks.back().block;
    std::vector<ParameterTensor> tensors = TensorsOf(block, model_.hidden);
    tensors.push_back({"join", 2 * model_.hidden * model_.hidden, TensorSpread::kSplit});
    UnitMemory memory = BlockMemory(block);
    const UnitMemory head = HeadMemory(vocabulary);
    memory.whole += head.whole;
    memory.kept += head.kept;
    memory.input += head.input;
    memory.logits = head.logits;
    memory.logits_copy = head.logits_copy;
    extra_ = AddKind(ExtraPredictionOps(microbatch_, model_), tensors, memory);
  }

  [[nodiscard]] ActivationSetting Setting() const {
    return {model_, job_.training, job_.plan, job_.framework};
  }

  [[nodiscard]] UnitMemory EmbeddingMemory() const {
    const std::int64_t mask = EmbeddingActivationBytes(Setting());
    return {.category = kEnds, .whole = mask, .kept = mask, .input = mask};
  }

  [[nodiscard]] UnitMemory BlockMemory(const Block& block) const {
    const BlockActivations activations = ActivationsOf(block, Setting());
    const Recompute partly =
        job_.plan.recompute == Recompute::kSelective ? Recompute::kSelective : Recompute::kNothing;
    return {.whole = activations.total(),
            .kept = KeptBytes(activations, job_.plan, partly),
            .input = activations.input,
            .working = WorkingBytes(block, Setting())};
  }

  [[nodiscard]] UnitMemory HeadMemory(std::int64_t vocabulary) const {
    const HeadActivations head = HeadActivationsOf(Setting(), vocabulary);
    return {.category = kEnds,
            .whole = head.inputs,
            .kept = head.inputs - (job_.plan.recompute_parts.norms ? head.norm_result : 0),
            .input = head.inputs,
            .logits = head.logits,
            .logits_copy = head.working};
  }

  [[nodiscard]] std::vector<StageUnit> UnitsOfPart(const PartLayers& part) const {
    std::vector<StageUnit> units;
    if (part.has_embedding) {
      units.push_back({embedding_, false});
    }
    for (int i = 0; i < part.num_blocks; ++i) {
      const BlockPlace place = {.of_stage = i, .of_model = part.first_block + i};
      units.push_back({kind_of_block_[static_cast<std::size_t>(place.of_model)],
                       RecomputeOf(job_.plan, place) == Recompute::kFull});
    }
    if (part.has_head) {
      // Blocks that predict further tokens stand before the head, which all of them share.
      units.insert(units.end(), static_cast<std::size_t>(model_.extra_predictions),
                   {extra_, false});
      units.push_back({head_, false});
    }
    return units;
  }

  Status DealUnits() {
    ORRERY_TRY(const std::vector<PartLayers> parts,
               CutLayers(LayerCutOf(model_, job_.plan, job_.framework, shape_)));
    for (int stage = 0; stage < shape_.stages; ++stage) {
      StageUnits chunks;
      bool has_end = false;
      for (int chunk = 0; chunk < shape_.chunks; ++chunk) {
        const PartLayers& part = parts[static_cast<std::size_t>(PartOf(shape_, {stage, chunk}))];
        has_end = has_end || part.has_embedding || part.has_head;
        chunks.push_back(UnitsOfPart(part));
      }
      units_.tied_bytes.push_back(has_end ? TiedBytes() : 0);
      units_.stages.push_back(std::move(chunks));
    }
    return {};
  }

  // Gradients of an embedding that the first and the last stage both hold.
  [[nodiscard]] std::int64_t TiedBytes() const {
    const bool is_shared =
        model_.is_tied && shape_.stages > 1 && !microbatch_.is_frozen() &&
        PartOf(shape_, {0, 0}) != PartOf(shape_, {shape_.stages - 1, shape_.chunks - 1});
    return is_shared ? PaddedVocabulary(job_, model_) * model_.hidden / microbatch_.tp *
                           job_.training.precision.gradient_bytes
                     : 0;
  }

  const Job& job_;
  const Transformer& model_;
  const PipelineShape& shape_;
  MicrobatchShape microbatch_;
  ModelUnits units_;
  std::size_t embedding_ = 0;
  std::size_t head_ = 0;
  std::size_t extra_ = 0;
  std::vector<std::size_t> kind_of_block_;
};

// Cuts a transformer into units: the embedding, blocks, the head.
Result<ModelUnits> TransformerUnits(const Job& job, const PipelineShape& shape) {
  return UnitsBuilder(job, *job.model.transformer(), shape).Build();
}

Category CategoryOf(kernel::OperatorKind kind) {
  switch (kind) {
    case kernel::OperatorKind::kConv:
    case kernel::OperatorKind::kConv1d:
      return Category::kConvolution;
    case kernel::OperatorKind::kBatchNorm:
    case kernel::OperatorKind::kLayerNorm:
    case kernel::OperatorKind::kRmsNorm:
      return Category::kNorm;
    case kernel::OperatorKind::kAttention:
      return Category::kAttention;
    case kernel::OperatorKind::kEmbedding:
    case kernel::OperatorKind::kEmbeddingBag:
      return Category::kEmbedding;
    case kernel::OperatorKind::kNll:
    case kernel::OperatorKind::kCrossEntropy:
      return Category::kLoss;
    default:
      return kernel::IsGemm(kind) ? Category::kGemm : Category::kElementwise;
  }
}

Result<std::vector<LayerOp>> OpsOf(const ListedLayer& layer,
                                   const std::vector<kernel::Operator>& operators,
                                   std::int64_t samples) {
  std::vector<LayerOp> steps;
  for (const kernel::Operator& op : operators) {
    ORRERY_TRY(const kernel::Operator grown, ForSamples(op, samples));
    steps.push_back(OperatorOp(layer.name, CategoryOf(op.kind()), grown));
  }
  return steps;
}

// A layer that names no backward pass runs its products twice, for its input and its weights.
Result<UnitOps> OpsOf(const ListedLayer& layer, std::int64_t samples) {
  UnitOps unit;
  ORRERY_TRY(unit.forward, OpsOf(layer, layer.forward, samples));
  if (!layer.backward.empty()) {
    ORRERY_TRY(unit.backward, OpsOf(layer, layer.backward, samples));
    return unit;
  }
  unit.backward = unit.forward;
  for (const LayerOp& step : unit.forward) {
    if (kernel::IsGemm(step.op->kind())) {
      unit.backward.push_back(step);
    }
  }
  return unit;
}

// Each layer of a list is a unit, for a micro-batch of samples.
Result<ModelUnits> LayerListUnits(const Job& job) {
  const std::int64_t samples = job.training.micro_batch;
  const std::int64_t element = MicrobatchShapeOf(job).element_bytes;
  ModelUnits units;
  std::vector<StageUnit> chunk;
  for (const ListedLayer& layer : job.model.layer_list()->layers) {
    ORRERY_TRY(UnitOps steps, OpsOf(layer, samples));
    chunk.push_back({units.kinds.size(), job.plan.recompute == Recompute::kFull});
    units.kinds.push_back(std::move(steps));
    units.tensors.push_back({layer.parameters, {}});
    // Its result is kept as the input of the next layer.
    const std::int64_t output = layer.output_elements * samples * element;
    units.memory.push_back({.whole = output, .kept = output, .working = output});
  }
  units.stages.push_back({std::move(chunk)});
  return units;
}

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
