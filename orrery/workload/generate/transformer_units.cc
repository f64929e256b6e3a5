#include "orrery/workload/generate/transformer_units.h"

#include <utility>

#include "orrery/workload/generate/block_ops.h"
#include "orrery/workload/generate/microbatch_shape.h"
#include "orrery/workload/generate/unfused.h"
#include "orrery/workload/plan/activation_memory.h"
#include "orrery/workload/plan/parameter_tensors.h"
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
  std::size_t AddKind(UnitOps steps, const std::vector<ParameterTensor>& tensors,
                      UnitMemory memory, const std::vector<ParameterTensor>& adapters = {}) {
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

}  // namespace

Result<ModelUnits> TransformerUnits(const Job& job, const PipelineShape& shape) {
  return UnitsBuilder(job, *job.model.transformer(), shape).Build();
}

}  // namespace orrery::workload
