#include "orrery/workload/generate/model_units.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "orrery/kernel/work.h"
#include "orrery/workload/generate/block_ops.h"
#include "orrery/workload/generate/layer_writer.h"
#include "orrery/workload/generate/unfused.h"
#include "orrery/workload/model/listed_layers.h"
#include "orrery/workload/model/parameters.h"
#include "orrery/workload/plan/activation_memory.h"
#include "orrery/workload/plan/stage_layers.h"

namespace orrery::workload {
namespace {

// The tensors of one rank.
UnitTensors LocalTensors(const std::vector<ParameterTensor>& tensors, const Plan& plan) {
  UnitTensors local;
  for (const ParameterTensor& tensor : tensors) {
    if (tensor.spread == TensorSpread::kExpert) {
      local.experts.push_back(tensor.elements / plan.expert_tp);
    } else {
      local.dense.push_back(tensor.elements /
                            (tensor.spread == TensorSpread::kSplit ? plan.tp : 1));
    }
  }
  // A rank holds the tensors of its own experts, all of which are alike.
  const std::size_t held = local.experts.size() / static_cast<std::size_t>(plan.ep);
  local.experts.resize(local.experts.empty() ? 0 : std::max<std::size_t>(held, 1));
  return local;
}

// The same if the tensors are frozen and only `adapters` are trained.
UnitTensors FrozenTensors(const std::vector<ParameterTensor>& tensors,
                          const std::vector<ParameterTensor>& adapters, const Plan& plan) {
  const RankParameters base = LocalTensors(tensors, plan).parameters();
  UnitTensors local = LocalTensors(adapters, plan);
  local.frozen = base.dense + base.experts;
  return local;
}

constexpr std::string_view kEnds = "activations of embedding and head";

class UnitsBuilder {
 public:
  UnitsBuilder(const Job& job, const Transformer& model, const PipelineShape& shape)
      : job_(job), model_(model), shape_(shape), microbatch_(MicrobatchShapeOf(job, model)) {}

  Result<ModelUnits> Build() {
    AddKinds();
    ORRERY_TRY_STATUS(AssignUnits());
    units_.message_bytes = microbatch_.tokens * microbatch_.hidden * microbatch_.element_bytes /
                           (job_.plan.sequence_parallel ? microbatch_.tp : 1);
    return std::move(units_);
  }

 private:
  // `adapters`: what is trained if the rest is frozen.
  std::size_t AddKind(UnitOps ops, const std::vector<ParameterTensor>& tensors, UnitMemory memory,
                      const std::vector<ParameterTensor>& adapters = {}) {
    memory.weight_inputs = ops.weight_inputs;
    units_.memory.push_back(memory);
    units_.tensors.push_back(microbatch_.is_frozen() ? FrozenTensors(tensors, adapters, job_.plan)
                                                     : LocalTensors(tensors, job_.plan));
    if (job_.framework.copies_shards && job_.plan.sharding == Sharding::kParameters) {
      AddCopiesOfShards(units_.tensors.back().parameters().dense, microbatch_, ops);
    }
    units_.kinds.push_back(std::move(ops));
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
    // A tied head has parameters of its own if it is on another stage.
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
      // Blocks that predict further tokens come before the head, which all of them share.
      units.insert(units.end(), static_cast<std::size_t>(model_.extra_predictions),
                   {extra_, false});
      units.push_back({head_, false});
    }
    return units;
  }

  Status AssignUnits() {
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

  // Gradients of an embedding that both the first and the last stage hold.
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
  std::vector<LayerOp> ops;
  for (const kernel::Operator& op : operators) {
    ORRERY_TRY(const kernel::Operator grown, ForSamples(op, samples));
    ops.push_back(OperatorOp(layer.name, CategoryOf(op.kind()), grown));
  }
  return ops;
}

// A layer without a backward pass runs its GEMMs twice, for its input and its weights.
Result<UnitOps> OpsOf(const ListedLayer& layer, std::int64_t samples) {
  UnitOps unit;
  ORRERY_TRY(unit.forward, OpsOf(layer, layer.forward, samples));
  if (!layer.backward.empty()) {
    ORRERY_TRY(unit.backward, OpsOf(layer, layer.backward, samples));
    return unit;
  }
  unit.backward = unit.forward;
  for (const LayerOp& op : unit.forward) {
    if (kernel::IsGemm(op.op->kind())) {
      unit.backward.push_back(op);
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
    ORRERY_TRY(UnitOps ops, OpsOf(layer, samples));
    chunk.push_back({units.kinds.size(), job.plan.recompute == Recompute::kFull});
    units.kinds.push_back(std::move(ops));
    units.tensors.push_back({layer.parameters, {}});
    // Its result is kept as the input of the next layer.
    const std::int64_t output = layer.output_elements * samples * element;
    units.memory.push_back({.whole = output, .kept = output, .working = output});
  }
  units.stages.push_back({std::move(chunk)});
  return units;
}

}  // namespace

StageParameters StageTensors::Parameters() const {
  StageParameters sum;
  for (const std::vector<StageUnit>& chunk : *units) {
    for (const StageUnit& unit : chunk) {
      const UnitTensors& own = (*of_kind)[unit.kind];
      sum.trained.dense += own.parameters().dense;
      sum.trained.experts += own.parameters().experts;
      sum.frozen += own.frozen;
      sum.num_tensors += std::ssize(own.dense) + std::ssize(own.experts);
    }
  }
  return sum;
}

Result<ModelUnits> UnitsOf(const Job& job, const PipelineShape& shape) {
  if (job.model.transformer() != nullptr) {
    return UnitsBuilder(job, *job.model.transformer(), shape).Build();
  }
  if (job.plan.tp * job.plan.pp * job.plan.cp > 1) {
    return Fail(Error::Kind::kUnsupported,
                "models other than transformers can only be data-parallel: set plan.tp, plan.pp "
                "and plan.cp to 1");
  }
  return job.model.layer_list() != nullptr ? LayerListUnits(job) : DlrmUnits(job);
}

}  // namespace orrery::workload
