#include "orrery/workload/generate/model_units.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/collective_kind.h"
#include "orrery/base/error.h"
#include "orrery/kernel/operator.h"
#include "orrery/kernel/work.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/generate/block_ops.h"
#include "orrery/workload/generate/layer_op.h"
#include "orrery/workload/generate/layer_writer.h"
#include "orrery/workload/input.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/model/convolutional.h"
#include "orrery/workload/model/dlrm.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/model/operators.h"
#include "orrery/workload/model/parameters.h"
#include "orrery/workload/plan/activation_memory.h"
#include "orrery/workload/plan/pipeline_schedule.h"
#include "orrery/workload/plan/plan.h"
#include "orrery/workload/plan/sharding.h"
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

// The same if the tensors are frozen and only `adapters` are trained. `base` are elements that have
// a format of their own.
UnitTensors FrozenTensors(const std::vector<ParameterTensor>& tensors,
                          const std::vector<ParameterTensor>& adapters, std::int64_t base,
                          const Job& job) {
  const RankParameters all = LocalTensors(tensors, job.plan).parameters();
  UnitTensors local = LocalTensors(adapters, job.plan);
  const std::int64_t own_base = base / job.plan.tp;
  local.frozen_bytes = (all.dense + all.experts - own_base) * ParameterBytes(job.training) +
                       BaseBytes(own_base, job.training);
  return local;
}

// A unit before the first trained parameter: nothing is kept for a backward pass.
void RemoveBackward(UnitOps& ops) {
  ops.backward.clear();
  ops.recompute.clear();
  ops.weight_inputs = 0;
}

// The tensors that are trained of a unit if the rest is frozen, and the elements that have a format
// of their own.
struct Adapted {
  std::vector<ParameterTensor> adapters = {};
  std::int64_t base = 0;
};

constexpr std::string_view kEnds = "activations of embedding and head";

// Each GEMM, norm and core of attention is a module, or its backward pass, with Python around its
// kernels; the gradient of a weight belongs to that of the input. Experts are
// one module or one each.
void AddModuleCalls(const Framework& framework, std::vector<LayerOp>& ops) {
  for (LayerOp& op : ops) {
    const bool is_core = op.name == "softmax" || op.name == "attention";
    const bool is_module = is_core || op.category == Category::kGemm ||
                           op.category == Category::kNorm || op.category == Category::kExperts;
    const int modules = framework.module_per_expert ? op.repeats : 1;
    op.calls += is_module && !op.is_wgrad ? framework.module_calls * modules : 0;
  }
}

class UnitsBuilder {
 public:
  UnitsBuilder(const Job& job, const Transformer& model, const PipelineShape& shape)
      : job_(job), model_(model), shape_(shape), microbatch_(MicrobatchShapeOf(job, model)) {}

  ModelUnits Build() {
    AddKinds();
    units_.message_bytes = microbatch_.tokens * microbatch_.hidden * microbatch_.element_bytes /
                           (job_.plan.sequence_parallel ? microbatch_.tp : 1);
    return std::move(units_);
  }

 private:
  std::size_t AddKind(UnitOps ops, const std::vector<ParameterTensor>& tensors, UnitMemory memory,
                      const Adapted& adapted = {}) {
    return AddTensors(microbatch_.is_frozen()
                          ? FrozenTensors(tensors, adapted.adapters, adapted.base, job_)
                          : LocalTensors(tensors, job_.plan),
                      std::move(ops), memory);
  }

  // A unit without a backward pass.
  std::size_t AddFrozenKind(UnitOps ops, const std::vector<ParameterTensor>& tensors,
                            std::int64_t base = 0) {
    RemoveBackward(ops);
    UnitTensors frozen = FrozenTensors(tensors, {}, base, job_);
    frozen.has_backward = false;
    return AddTensors(std::move(frozen), std::move(ops), {});
  }

  std::size_t AddTensors(UnitTensors tensors, UnitOps ops, UnitMemory memory) {
    memory.weight_inputs = ops.weight_inputs;
    units_.memory.push_back(memory);
    if (job_.framework.has_eager_modules && !job_.framework.is_compiled) {
      AddModuleCalls(job_.framework, ops.forward);
      AddModuleCalls(job_.framework, ops.recompute);
      AddModuleCalls(job_.framework, ops.backward);
    }
    if (job_.framework.copies_shards && ReshardsAfterForward(job_.plan)) {
      const std::int64_t trained = tensors.parameters().dense;
      AddCopiesOfShards(trained + tensors.frozen_bytes / microbatch_.element_bytes, trained,
                        microbatch_, ops);
    }
    units_.tensors.push_back(std::move(tensors));
    units_.kinds.push_back(std::move(ops));
    return units_.kinds.size() - 1;
  }

  // Blocks of a run: the frozen ones first.
  void AddRun(const BlockRun& run, std::int64_t frozen) {
    std::vector<std::size_t>& kinds = units_.transformer.of_blocks;
    const std::vector<ParameterTensor> tensors = TensorsOf(run.block, model_.hidden);
    const std::int64_t base = BaseMatricesOf(run.block, model_.hidden).elements;
    const auto add = [&](std::int64_t count, std::size_t kind) {
      kinds.insert(kinds.end(), static_cast<std::size_t>(count), kind);
    };
    if (frozen > 0) {
      add(frozen, AddFrozenKind(BlockOps(microbatch_, model_, run.block), tensors, base));
    }
    if (frozen < run.count) {
      add(run.count - frozen,
          AddKind(BlockOps(microbatch_, model_, run.block), tensors, BlockMemory(run.block),
                  {AdapterTensors(run.block, model_.hidden, job_.training.trained()), base}));
    }
  }

  void AddKinds() {
    const std::int64_t vocabulary = PaddedVocabulary(job_, model_);
    TransformerKinds& kinds = units_.transformer;
    std::int64_t frozen = job_.training.frozen_blocks;
    const std::vector<ParameterTensor> words = EmbeddingTensors(model_, vocabulary);
    kinds.embedding = frozen > 0
                          ? AddFrozenKind(EmbeddingOps(microbatch_, model_), words)
                          : AddKind(EmbeddingOps(microbatch_, model_), words, EmbeddingMemory());
    for (const auto* runs : {&model_.encoder, &model_.blocks}) {
      for (const BlockRun& run : *runs) {
        const std::int64_t of_run = std::min<std::int64_t>(run.count, frozen);
        AddRun(run, of_run);
        frozen -= of_run;
      }
    }
    if (model_.extra_predictions > 0) {
      AddExtraPrediction(vocabulary);
    }
    // A tied head has parameters of its own if it is on another stage.
    kinds.head = AddKind(HeadOps(microbatch_, model_),
                         HeadTensors(model_, vocabulary, model_.is_tied && HasEndsApart(shape_)),
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
    units_.transformer.extra = AddKind(ExtraPredictionOps(microbatch_, model_), tensors, memory);
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
    // Blocks that are recomputed as a whole are a matter of their place.
    const Recompute partly =
        job_.plan.recompute == Recompute::kFull ? Recompute::kNothing : job_.plan.recompute;
    return {.whole = activations.total(),
            .kept = KeptBytes(activations, job_.plan, partly),
            .input = activations.input,
            .working = WorkingBytes(block, Setting()) + DequantisedBytes(block),
            .is_offloadable = true};
  }

  // Of the largest matrix, while a GEMM reads it.
  [[nodiscard]] std::int64_t DequantisedBytes(const Block& block) const {
    return job_.training.base_format == BaseFormat::kSame
               ? 0
               : BaseMatricesOf(block, model_.hidden).largest / job_.plan.tp *
                     microbatch_.element_bytes;
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

  const Job& job_;
  const Transformer& model_;
  const PipelineShape& shape_;
  MicrobatchShape microbatch_;
  ModelUnits units_;
};

std::vector<StageUnit> UnitsOfPart(const PartLayers& part, const Job& job,
                                   const TransformerKinds& kinds) {
  std::vector<StageUnit> units;
  if (part.has_embedding) {
    units.push_back({kinds.embedding, false});
  }
  for (int i = 0; i < part.num_blocks; ++i) {
    const BlockPlace place = {.of_stage = i, .of_model = part.first_block + i};
    units.push_back({kinds.of_blocks[static_cast<std::size_t>(place.of_model)],
                     place.of_model >= job.training.frozen_blocks &&
                         RecomputeOf(job.plan, place) == Recompute::kFull});
  }
  if (part.has_head) {
    // Blocks that predict further tokens come before the head, which all of them share.
    units.insert(units.end(), static_cast<std::size_t>(job.model.transformer()->extra_predictions),
                 {kinds.extra, false});
    units.push_back({kinds.head, false});
  }
  return units;
}

Category CategoryOf(kernel::OperatorKind kind) {
  using enum kernel::OperatorKind;
  static const std::map<kernel::OperatorKind, Category> kCategories{
      {kConv, Category::kConvolution},
      {kConv1d, Category::kConvolution},
      {kBatchNorm, Category::kNorm},
      {kLayerNorm, Category::kNorm},
      {kRmsNorm, Category::kNorm},
      {kAttention, Category::kAttention},
      {kEmbedding, Category::kEmbedding},
      {kEmbeddingBag, Category::kEmbedding},
      {kNll, Category::kLoss},
      {kCrossEntropy, Category::kLoss}};
  const auto found = kCategories.find(kind);
  const Category other = kernel::IsGemm(kind) ? Category::kGemm : Category::kElementwise;
  return found == kCategories.end() ? other : found->second;
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

using kernel::Key;
using kernel::OperatorKind;
using Shards = std::vector<TableShard>;

class DlrmBuilder {
 public:
  DlrmBuilder(const Job& job, const Dlrm& model)
      : job_(job), model_(model), shape_(MicrobatchShapeOf(job)) {}

  ModelUnits Build() {
    const auto shards = ShardTables(model_.tables, job_.plan.tables, job_.plan.dp);
    AddTop();
    for (const Shards& of_rank : shards) {
      units_.program_of_rank.push_back(ProgramOf(of_rank));
    }
    return std::move(units_);
  }

 private:
  // Ranks with shards of the same sizes share a program.
  ProgramId ProgramOf(const Shards& shards) {
    const auto is_alike = [](const TableShard& lhs, const TableShard& rhs) {
      return lhs.rows == rhs.rows && lhs.dim == rhs.dim && lhs.lookups == rhs.lookups;
    };
    for (std::size_t program = 0; program < shards_of_program_.size(); ++program) {
      if (std::ranges::equal(shards_of_program_[program], shards, is_alike)) {
        return static_cast<ProgramId>(program);
      }
    }
    shards_of_program_.push_back(shards);
    AddProgram(shards);
    return static_cast<ProgramId>(shards_of_program_.size() - 1);
  }

  void AddProgram(const Shards& shards) {
    const std::size_t bottom =
        AddKind(BottomOps(shards), WeightsOf(model_.dense_features, model_.bottom));
    units_.stages.push_back({{{bottom, false}, {kTop, false}}});
    std::int64_t elements = 0;
    for (const TableShard& shard : shards) {
      elements += shard.rows * shard.dim;
    }
    units_.table_bytes.push_back(elements * shape_.element_bytes);
  }

  void AddTop() {
    LayerWriter writer(shape_);
    WriteInteraction(writer);
    WriteNetwork(InteractionWidth(model_), model_.top, writer);
    AddKind(writer.Finish(), WeightsOf(InteractionWidth(model_), model_.top));
  }

  std::size_t AddKind(UnitOps steps, std::vector<std::int64_t> tensors) {
    // Inputs and results of all products, with the gradients that the products' weights need.
    const std::int64_t kept = steps.weight_inputs / 2;
    units_.memory.push_back(
        {.whole = kept, .kept = kept, .working = kept, .weight_inputs = steps.weight_inputs});
    units_.kinds.push_back(std::move(steps));
    units_.tensors.push_back({std::move(tensors), {}});
    return units_.kinds.size() - 1;
  }

  // Weights and biases.
  static std::vector<std::int64_t> WeightsOf(std::int64_t input,
                                             const std::vector<std::int64_t>& widths) {
    std::vector<std::int64_t> tensors;
    for (const std::int64_t width : widths) {
      tensors.push_back(input * width);
      tensors.push_back(width);
      input = width;
    }
    return tensors;
  }

  void WriteNetwork(std::int64_t input, const std::vector<std::int64_t>& widths,
                    LayerWriter& writer) const {
    const std::int64_t e = shape_.element_bytes;
    for (const std::int64_t width : widths) {
      writer.Linear({"network", shape_.batch, input, width, Cut::kNothing});
      writer.Elements(
          {"activation", "relu", "relu_backward", shape_.batch * width, e, e, 2 * e, e});
      input = width;
    }
  }

  // Dot products of all pairs of vectors of a sample.
  void WriteInteraction(LayerWriter& writer) const {
    const auto vectors = static_cast<std::int64_t>(model_.tables.size()) + 1;
    const std::int64_t dim = model_.bottom.empty() ? model_.dense_features : model_.bottom.back();
    const auto product = [&](std::int64_t n, std::int64_t k) {
      return OperatorOp("interaction", Category::kGemm,
                        BatchedGemm(shape_.batch, vectors, n, k, shape_.type));
    };
    writer.Forward(product(vectors, dim));
    writer.Backward({product(dim, vectors), product(dim, vectors)});
  }

  // Of all ranks, since tables are sharded over them.
  [[nodiscard]] std::int64_t samples() const { return shape_.batch * job_.plan.dp; }

  [[nodiscard]] std::int64_t LookupsOf(const TableShard& shard) const {
    return std::max<std::int64_t>(1, std::llround(shard.lookups * static_cast<double>(samples())));
  }

  // Sums of rows, one for each sample; the rows themselves if few samples hit a shard.
  [[nodiscard]] kernel::Operator LookupOf(const TableShard& shard) const {
    if (shard.lookups < 1) {
      return Lookup(shard.rows, shard.dim, LookupsOf(shard), "fwd", shape_.type);
    }
    return MakeOperator(OperatorKind::kEmbeddingBag, shape_.type,
                        {{Key::kRows, shard.rows},
                         {Key::kDim, shard.dim},
                         {Key::kBags, samples()},
                         {Key::kPool, std::llround(shard.lookups)}})
        .Set(Key::kPass, "fwd");
  }

  // By table and column, what a rank sends: pooled vectors of its shards for all samples. By row,
  // partial sums of all tables, which are zeros where it lacks the rows.
  [[nodiscard]] Communication VectorCommunication(const Shards& shards, bool is_forward) const {
    const bool is_by_row = job_.plan.tables == TableSharding::kRow;
    const auto width_of = [](std::int64_t width, const auto& part) { return width + part.dim; };
    const std::int64_t width =
        is_by_row
            ? std::accumulate(model_.tables.begin(), model_.tables.end(), std::int64_t{0}, width_of)
            : std::accumulate(shards.begin(), shards.end(), std::int64_t{0}, width_of);
    const CollectiveKind by_row =
        is_forward ? CollectiveKind::kReduceScatter : CollectiveKind::kAllGather;
    return shape_.Over(GroupRole::kTables, is_by_row ? by_row : CollectiveKind::kAllToAll,
                       samples() * width);
  }

  // Forward: lookups, then the communication beside the network. Backward: the communication beside
  // the network's backward pass, then the gradients of rows.
  [[nodiscard]] UnitOps BottomOps(const Shards& shards) const {
    const bool is_dealt = job_.plan.dp > 1;
    LayerWriter network(shape_);
    WriteNetwork(model_.dense_features, model_.bottom, network);
    UnitOps unit = network.Finish();
    std::vector<LayerOp> forward;
    std::vector<LayerOp> backward;
    for (const TableShard& shard : shards) {
      forward.push_back(OperatorOp("lookup", Category::kEmbedding, LookupOf(shard)));
    }
    if (is_dealt) {
      Communication out = VectorCommunication(shards, true);
      out.overlapped_ops = static_cast<int>(unit.forward.size());
      forward.push_back(CommunicationOp("exchange vectors", out));
      Communication back = VectorCommunication(shards, false);
      back.overlapped_ops = static_cast<int>(unit.backward.size());
      backward.push_back(CommunicationOp("exchange gradients of vectors", back));
    }
    std::ranges::move(unit.forward, std::back_inserter(forward));
    std::ranges::move(unit.backward, std::back_inserter(backward));
    // Gradients are sparse: each row that was looked up is read, changed and written.
    const std::int64_t e = shape_.element_bytes;
    for (const TableShard& shard : shards) {
      backward.push_back(
          OperatorOp("update rows", Category::kEmbedding,
                     Elementwise("add", LookupsOf(shard) * shard.dim, 2 * e, e, shape_.type)));
    }
    unit.forward = std::move(forward);
    unit.backward = std::move(backward);
    return unit;
  }

  static constexpr std::size_t kTop = 0;  // the first kind, which all programs share

  const Job& job_;
  const Dlrm& model_;
  MicrobatchShape shape_;
  ModelUnits units_;
  std::vector<Shards> shards_of_program_;
};

}  // namespace

StageParameters StageTensors::Parameters() const {
  StageParameters sum;
  for (const std::vector<StageUnit>& chunk : *units) {
    for (const StageUnit& unit : chunk) {
      const UnitTensors& own = (*of_kind)[unit.kind];
      sum.trained.dense += own.parameters().dense;
      sum.trained.experts += own.parameters().experts;
      sum.frozen_bytes += own.frozen_bytes;
      sum.num_tensors += std::ssize(own.dense) + std::ssize(own.experts);
    }
  }
  return sum;
}

bool HasEndsApart(const PipelineShape& shape) {
  const ChunkPlace last = {shape.stages - 1, shape.chunks - 1};
  return shape.stages > 1 && PartOf(shape, last) == NumParts(shape) - 1;
}

Status AssignUnits(const Job& job, const PipelineShape& shape, ModelUnits& units) {
  const Transformer& model = *job.model.transformer();
  ORRERY_TRY(const std::vector<PartLayers> parts,
             CutLayers(LayerCutOf(model, job.plan, job.framework, shape)));
  // Gradients of an embedding that both the first and the last stage hold.
  const bool is_shared = model.is_tied && job.training.adapter_rank == 0 && HasEndsApart(shape);
  const std::int64_t tied_bytes = is_shared
                                      ? PaddedVocabulary(job, model) * model.hidden / job.plan.tp *
                                            job.training.precision.gradient_bytes
                                      : 0;
  units.stages.clear();
  units.tied_bytes.clear();
  for (int stage = 0; stage < shape.stages; ++stage) {
    StageUnits chunks;
    bool has_end = false;
    for (int chunk = 0; chunk < shape.chunks; ++chunk) {
      const PartLayers& part = parts[static_cast<std::size_t>(PartOf(shape, {stage, chunk}))];
      has_end = has_end || part.has_embedding || part.has_head;
      chunks.push_back(UnitsOfPart(part, job, units.transformer));
    }
    units.tied_bytes.push_back(has_end ? tied_bytes : 0);
    units.stages.push_back(std::move(chunks));
  }
  return {};
}

Result<ModelUnits> UnitsOf(const Job& job, const PipelineShape& shape) {
  if (job.model.transformer() != nullptr) {
    ModelUnits units = UnitsBuilder(job, *job.model.transformer(), shape).Build();
    ORRERY_TRY_STATUS(AssignUnits(job, shape, units));
    return units;
  }
  if (job.plan.tp * job.plan.pp * job.plan.cp > 1) {
    return Unsupported(
        "models other than transformers can only be data-parallel: set plan.tp, plan.pp and "
        "plan.cp to 1");
  }
  return job.model.layer_list() != nullptr ? LayerListUnits(job) : DlrmUnits(job);
}

ModelUnits DlrmUnits(const Job& job) {
  return DlrmBuilder(job, *job.model.dlrm()).Build();
}

}  // namespace orrery::workload
