#include "orrery/workload/generate/block_ops.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/collective_kind.h"
#include "orrery/base/data_type.h"
#include "orrery/base/math/round_up.h"
#include "orrery/kernel/operator.h"
#include "orrery/workload/generate/layer_op.h"
#include "orrery/workload/generate/layer_writer.h"
#include "orrery/workload/generate/model_units.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/model/operators.h"
#include "orrery/workload/plan/activation_memory.h"
#include "orrery/workload/plan/plan.h"
#include "orrery/workload/plan/sharding.h"

namespace orrery::workload {
namespace {

using kernel::Key;
using kernel::OperatorKind;

void WriteMlp(const Transformer& model, const Block& block, LayerWriter& writer) {
  const MicrobatchShape& shape = writer.shape();
  if (!block.is_parallel) {
    writer.Norm(block.norm, shape.sharded_tokens, shape.hidden);
  }
  if (const Experts* experts = block.experts()) {
    WriteExperts(*experts, writer);
  } else {
    writer.WritePart(shape.plan().recompute_parts.mlp,
                     [&] { WriteFeedForward(*block.feed_forward(), shape.tokens, true, writer); });
  }
  writer.AddResidual(model.dropout);
}

// The ranks of a split vocabulary sum what the loss needs of a row.
void SumLoss(LayerWriter& writer) {
  const MicrobatchShape& shape = writer.shape();
  for (int i = 0; i < 3 && shape.tp > 1; ++i) {
    writer.Forward(CommunicationOp("sum of loss", {GroupRole::kTensor, CollectiveKind::kAllReduce,
                                                   4 * shape.tokens, DataType::kFp32, 0}));
  }
}

// `more` runs after `unit` forward and before it backward.
void Append(UnitOps& unit, UnitOps more) {
  std::ranges::move(more.forward, std::back_inserter(unit.forward));
  std::ranges::move(more.recompute, std::back_inserter(unit.recompute));
  std::ranges::move(unit.backward, std::back_inserter(more.backward));
  unit.backward = std::move(more.backward);
  unit.weight_inputs += more.weight_inputs;
}

// The loss over a split vocabulary is unfused: maximum, difference, exponential, sum and
// quotient, each over all logits in fp32, and the gradient from the quotient.
void WriteSplitLoss(std::int64_t cols, LayerWriter& writer) {
  const MicrobatchShape& shape = writer.shape();
  const std::int64_t logits = shape.tokens * cols;
  writer.Forward(
      OperatorOp("loss", Category::kLoss, Elementwise("exp", logits, 20, 12, DataType::kFp32), 12));
  SumLoss(writer);
  writer.Backward(
      {OperatorOp("loss", Category::kLoss, Elementwise("mul", logits, 8, 8, DataType::kFp32), 5)});
}

void WriteLoss(std::int64_t cols, bool is_fused, LayerWriter& writer) {
  const MicrobatchShape& shape = writer.shape();
  if (!is_fused && (shape.tp > 1 || shape.framework().splits_loss)) {
    WriteSplitLoss(cols, writer);
    return;
  }
  const DataType type = is_fused ? shape.type : DataType::kFp32;
  const auto loss = [&](std::string_view pass) {
    return OperatorOp("loss", Category::kLoss,
                      RowWise(OperatorKind::kCrossEntropy, shape.tokens, cols, pass, type), 3);
  };
  writer.Forward(loss("fwd"));
  SumLoss(writer);
  writer.Backward({loss("bwd")});
}

constexpr std::int64_t kElementsOfChunk = 65'536;

// If there are masters, frameworks update these: fp32 weights with fp32 moments.
kernel::Operator Update(const Job& job, std::int64_t n, std::int64_t tensors) {
  return MakeOperator(OperatorKind::kOptimizer, DataType::kFp32,
                      {{Key::kN, n},
                       {Key::kTensors, tensors},
                       {Key::kMaster, 0},
                       {Key::kChunks, std::max<std::int64_t>(1, n / kElementsOfChunk)}})
      .Set(Key::kFunction, job.training.optimizer == OptimizerKind::kSgd ? "sgd" : "adamw");
}

kernel::Operator NormOf(std::int64_t n, std::int64_t tensors) {
  return MakeOperator(OperatorKind::kGradientNorm, DataType::kFp32,
                      {{Key::kN, n},
                       {Key::kTensors, tensors},
                       {Key::kChunks, std::max<std::int64_t>(1, n / kElementsOfChunk)}});
}

// One number, summed over all ranks.
void AddSumOverAll(const Job& job, std::string_view name, std::vector<LayerOp>& ops) {
  if (job.gpus > 1) {
    ops.push_back(CommunicationOp(
        name, {GroupRole::kAll, CollectiveKind::kAllReduce, 4, DataType::kFp32, 0}));
  }
}

// Sums for Megatron's log of a step, each of which the host reads.
void AddLogs(const Job& job, std::int64_t n, std::int64_t tensors, std::vector<LayerOp>& ops) {
  const Framework& framework = job.framework;
  const auto read_sum = [&](std::string_view name) {
    AddSumOverAll(job, name, ops);
    ops.back().host_waits = true;
  };
  if (framework.logs_gradient_zeros) {
    // Elements less those that are not 0 (two kernels and a difference), added up.
    constexpr int kLaunches = 4;
    LayerOp zeros = OperatorOp("zeros of gradients", Category::kOptimizer, NormOf(n, tensors),
                               kLaunches * static_cast<int>(tensors));
    ops.push_back(zeros);
    read_sum("sum of zeros");
  }
  if (framework.logs_parameter_norm) {
    // A copy in fp32 of each parameter, then one kernel over all.
    LayerOp norm = OperatorOp("norm of parameters", Category::kOptimizer, NormOf(n, tensors),
                              1 + static_cast<int>(tensors));
    ops.push_back(norm);
    read_sum("sum of norms of parameters");
  }
}

// The core of attention on one rank, after the communication of context parallelism.
struct Core {
  std::int64_t batch = 1;
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
  std::int64_t queries = 1;
  std::int64_t keys = 1;
  std::int64_t head_size = 1;  // of queries and keys
  std::int64_t value_size = 1;
  bool is_causal = true;
  std::int64_t window = 0;
};

Core CoreOf(const Attention& attention, const MicrobatchShape& shape) {
  const Plan& plan = shape.plan();
  Core core;
  core.batch = shape.batch;
  core.heads = std::max<std::int64_t>(1, attention.heads / shape.tp);
  core.kv_heads = std::max<std::int64_t>(1, attention.kv_heads / shape.tp);
  const ContextRanks ranks = ContextRanksOf(plan);
  core.heads = std::max<std::int64_t>(1, core.heads / ranks.ulysses);
  core.kv_heads = std::max<std::int64_t>(1, core.kv_heads / ranks.ulysses);
  core.queries = shape.sequence / (plan.cp / ranks.ulysses);
  core.keys = shape.sequence;
  core.head_size =
      attention.head_size + (attention.latent ? attention.latent->rope_size : std::int64_t{0});
  core.value_size = attention.value_head_size;
  core.is_causal = attention.is_causal;
  core.window = attention.window;
  if (core.queries < shape.sequence && core.is_causal) {
    // Dealt evenly, each rank's queries see half of all keys on average; else the last one sees
    // almost all of them, and all wait for it.
    core.is_causal = false;
    core.keys = plan.context_is_balanced ? shape.sequence / 2 : shape.sequence - core.queries / 2;
  }
  return core;
}

kernel::Operator Flash(const Core& core, std::int64_t keys, std::string_view pass, DataType type) {
  // Values that are narrower than keys count as half of what they save.
  const std::int64_t size = (core.head_size + core.value_size) / 2;
  return MakeOperator(OperatorKind::kAttention, type,
                      {{Key::kB, core.batch},
                       {Key::kHeads, core.heads},
                       {Key::kKvHeads, core.kv_heads},
                       {Key::kQueryLength, core.queries},
                       {Key::kKeyLength, keys},
                       {Key::kHeadSize, size},
                       {Key::kCausal, core.is_causal ? 1 : 0},
                       {Key::kWindow, core.window}})
      .Set(Key::kPass, pass);
}

// Elements of keys and values that one rank holds.
std::int64_t KeyValueElements(const Core& core) {
  return core.batch * core.queries * core.kv_heads * (core.head_size + core.value_size);
}

// Ring attention: the next keys and values are received while attention works on the present ones.
void WriteRing(const Core& core, LayerWriter& writer) {
  const MicrobatchShape& shape = writer.shape();
  const int ranks = ContextRanksOf(shape.plan()).ring;
  const std::int64_t keys = std::max<std::int64_t>(1, core.keys / ranks);
  const std::int64_t elements = KeyValueElements(core);
  const auto pass_on = [&](std::int64_t count) {
    const bool has_rings = shape.plan().context == ContextKind::kUlyssesRing;
    return CommunicationOp("pass keys on",
                           shape.Over(has_rings ? GroupRole::kContextRing : GroupRole::kContext,
                                      CollectiveKind::kSendRecv, count, 1));
  };
  std::vector<LayerOp> backward;
  for (int hop = 0; hop < ranks; ++hop) {
    if (hop + 1 < ranks) {
      writer.Forward(pass_on(elements));
    }
    writer.Forward(OperatorOp("attention", Category::kAttention,
                              Flash(core, keys, "fwd", shape.type), hop == 0 ? 2 : 3));
    backward.push_back(pass_on(hop + 1 < ranks ? 2 * elements : elements));
    backward.push_back(
        OperatorOp("attention", Category::kAttention, Flash(core, keys, "bwd", shape.type), 3));
  }
  writer.Backward(std::move(backward));
}

LayerOp OfAttention(std::string_view name, const kernel::Operator& op) {
  return OperatorOp(name, Category::kAttention, op);
}

/// The kernels of scale, mask and softmax.
enum class SoftmaxKernels : std::uint8_t { kOne, kThree, kInFp32 };

// A block of Megatron's kernel has four warps with a row each of other heads: where batch · heads
// is no multiple of four, it runs map by map, in fp32.
SoftmaxKernels SoftmaxKernelsOf(const Framework& framework, std::int64_t heads) {
  constexpr std::int64_t kRowsOfBlock = 4;
  if (framework.is_compiled) {
    return SoftmaxKernels::kOne;
  }
  if (!framework.fuses_softmax) {
    return SoftmaxKernels::kThree;
  }
  return heads % kRowsOfBlock == 0 ? SoftmaxKernels::kOne : SoftmaxKernels::kInFp32;
}

// Materialised scores: two GEMMs with a softmax between them, and dropout of probabilities.
void WriteMaterialised(const Core& core, double dropout, LayerWriter& writer) {
  const DataType type = writer.shape().type;
  const Framework& framework = writer.shape().framework();
  const std::int64_t e = writer.shape().element_bytes;
  const std::int64_t heads = core.batch * core.heads;
  const std::int64_t scores = heads * core.queries * core.keys;
  const SoftmaxKernels softmax = SoftmaxKernelsOf(framework, heads);
  const bool is_unfused = softmax != SoftmaxKernels::kOne;
  const bool is_cast = softmax == SoftmaxKernels::kInFp32 && e < 4;
  const std::int64_t wide = is_cast ? 4 : e;
  const DataType softmax_type = is_cast ? DataType::kFp32 : type;
  const kernel::Operator to_scores =
      BatchedGemm(heads, core.queries, core.keys, core.head_size, writer.shape().score_gemm_type());
  const kernel::Operator from_scores =
      BatchedGemm(heads, core.queries, core.head_size, core.keys, writer.shape().score_gemm_type());
  // Its operand or result is copied into another layout.
  const auto product = [&](std::string_view name, const kernel::Operator& op) {
    return OperatorOp(name, Category::kAttention, op, 1 + writer.shape().EagerCalls(1));
  };
  writer.WritePart(writer.shape().plan().recompute == Recompute::kSelective, [&] {
    writer.Forward(product("scores", to_scores));
    if (is_cast) {
      writer.Forward(OfAttention("scores to fp32", Elementwise("other", scores, e, 4, type)));
    }
    if (is_unfused) {
      writer.Forward(OfAttention("scale", Elementwise("div", scores, wide, wide, softmax_type)));
      writer.Forward(OfAttention("mask", Elementwise("where", scores, wide, wide, softmax_type)));
    }
    writer.Forward(OfAttention("softmax", RowWise(OperatorKind::kSoftmax, heads * core.queries,
                                                  core.keys, "fwd", softmax_type)));
    if (is_cast) {
      writer.Forward(OfAttention("scores from fp32", Elementwise("other", scores, 4, e, type)));
    }
    if (dropout > 0) {
      writer.Forward(OfAttention("dropout", Elementwise("mul", scores, e, e + 1, type)));
    }
    writer.Forward(product("values", from_scores));
  });
  std::vector<LayerOp> backward = {product("values", to_scores), product("values", from_scores)};
  if (dropout > 0) {
    backward.push_back(OfAttention("dropout", Elementwise("mul", scores, e + 1, e, type)));
  }
  if (is_cast) {
    backward.push_back(OfAttention("scores to fp32", Elementwise("other", scores, e, 4, type)));
  }
  backward.push_back(OfAttention("softmax", RowWise(OperatorKind::kSoftmax, heads * core.queries,
                                                    core.keys, "bwd", softmax_type)));
  if (is_unfused) {
    backward.push_back(OfAttention("mask", Elementwise("where", scores, wide, wide, softmax_type)));
    backward.push_back(OfAttention("scale", Elementwise("div", scores, wide, wide, softmax_type)));
  }
  if (is_cast) {
    backward.push_back(OfAttention("scores from fp32", Elementwise("other", scores, 4, e, type)));
  }
  backward.push_back(product("scores", from_scores));
  backward.push_back(product("scores", from_scores));
  writer.Backward(std::move(backward));
}

// Copies of queries, keys, values and their gradients into the layout that kernels read.
constexpr int kLayoutCopies = 3;

void WriteCore(const Core& core, double dropout, LayerWriter& writer) {
  if (writer.shape().framework().attention == AttentionKernel::kMaterialised) {
    WriteMaterialised(core, dropout, writer);
  } else if (ContextRanksOf(writer.shape().plan()).ring > 1) {
    WriteRing(core, writer);
  } else {
    const MicrobatchShape& shape = writer.shape();
    const DataType type = shape.type;
    writer.Forward(OperatorOp("attention", Category::kAttention,
                              Flash(core, core.keys, "fwd", type), 1 + shape.EagerCalls(2)));
    writer.Backward(
        {OperatorOp("attention", Category::kAttention, Flash(core, core.keys, "bwd", type),
                    2 + shape.EagerCalls(kLayoutCopies))});
  }
}

// Keys and values of all ranks are gathered before the core. Only a rank's own are kept, so they
// are gathered again before its backward pass; behind that, their gradients are summed and
// scattered (Transformer Engine's and PyTorch's).
void WriteGatheredKeys(const Core& core, bool is_before, LayerWriter& writer) {
  const MicrobatchShape& shape = writer.shape();
  const std::int64_t elements = KeyValueElements(core) * shape.plan().cp;
  const auto over = [&](std::string_view name, CollectiveKind kind) {
    return CommunicationOp(name, shape.Over(GroupRole::kContext, kind, elements));
  };
  const LayerOp gather = over("gather keys", CollectiveKind::kAllGather);
  if (is_before) {
    writer.Forward(gather);
    writer.Backward({over("scatter keys", CollectiveKind::kReduceScatter)});
  } else {
    writer.Backward({gather});  // before that of the core
  }
}

// Before and after the core: context parallelism without a ring.
void WriteContextCommunication(const Core& core, bool is_before, LayerWriter& writer) {
  const MicrobatchShape& shape = writer.shape();
  const Plan& plan = shape.plan();
  if (plan.cp > 1 && plan.context == ContextKind::kAllGather) {
    WriteGatheredKeys(core, is_before, writer);
  }
  const int dealing = ContextRanksOf(plan).ulysses;
  if (dealing == 1) {
    return;
  }
  // Per rank: its tokens of all heads; Ulysses re-shards from tokens to heads.
  const std::int64_t own_tokens = shape.batch * shape.sequence / plan.cp;
  const std::int64_t widths =
      is_before ? core.heads * core.head_size + core.kv_heads * (core.head_size + core.value_size)
                : core.heads * core.value_size;
  const LayerOp deal = CommunicationOp(
      "deal heads",
      shape.Over(GroupRole::kContext, CollectiveKind::kAllToAll, own_tokens * widths * dealing));
  writer.Forward(deal);
  writer.Backward({deal});
}

void WriteRope(const Attention& attention, const Core& core, LayerWriter& writer) {
  if (!attention.has_rope) {
    return;
  }
  const MicrobatchShape& shape = writer.shape();
  const std::int64_t size = attention.latent ? attention.latent->rope_size : attention.head_size;
  const std::int64_t heads = std::max<std::int64_t>(1, attention.heads / shape.tp) +
                             (attention.latent ? 1 : core.kv_heads);
  const std::int64_t n = shape.tokens * heads * size;
  if (shape.is_unfused()) {
    for (const LayerOp& op : UnfusedRope(Pass::kForward, {shape.tokens, heads * size}, shape)) {
      writer.Forward(op);
    }
    writer.Backward(UnfusedRope(Pass::kBackward, {shape.tokens, heads * size}, shape));
    return;
  }
  const std::int64_t e = shape.element_bytes;
  // Unfused: two multiplications, a rotated copy and a sum, for queries and for keys.
  const bool is_fused = shape.framework().fuses_rope || shape.framework().is_compiled;
  const std::int64_t passes = is_fused ? 1 : 4;
  writer.Elements(
      {"rope", "mul", "mul", n, passes * e, passes * e, passes * e, passes * e, is_fused ? 2 : 10});
}

void WriteProjections(const Attention& attention, LayerWriter& writer) {
  const MicrobatchShape& shape = writer.shape();
  const std::int64_t rows = shape.tokens;
  const std::int64_t hidden = shape.hidden;
  if (!attention.latent) {
    // Models with rotary positions have three matrices, GPT-2 and its like one.
    writer.Linear({.name = "qkv",
                   .rows = rows,
                   .in = hidden,
                   .out = (attention.heads + 2 * attention.kv_heads) * attention.head_size,
                   .cut = Cut::kColumns,
                   .casts_input = false,
                   .branches = attention.has_rope ? 3 : 1,
                   .adapted_by = AdapterTargets::kAttention});
    return;
  }
  const LatentAttention& latent = *attention.latent;
  const std::int64_t query_width = attention.heads * (attention.head_size + latent.rope_size);
  const bool again = shape.plan().recompute_parts.latent_up;
  if (latent.query_rank > 0) {
    writer.Linear({"query down", rows, hidden, latent.query_rank, Cut::kNothing});
    writer.Norm(NormKind::kRms, rows, latent.query_rank);
    writer.WritePart(again, [&] {
      writer.Linear({"query up", rows, latent.query_rank, query_width, Cut::kColumns});
    });
  } else {
    writer.Linear({"query", rows, hidden, query_width, Cut::kColumns});
  }
  writer.Linear({"key and value down", rows, hidden, latent.key_value_rank + latent.rope_size,
                 Cut::kNothing});
  writer.Norm(NormKind::kRms, rows, latent.key_value_rank);
  writer.WritePart(again, [&] {
    writer.Linear({"key and value up", rows, latent.key_value_rank,
                   attention.heads * (attention.head_size + attention.value_head_size),
                   Cut::kColumns});
  });
}

}  // namespace

std::int64_t PaddedVocabulary(const Job& job, const Transformer& model) {
  if (model.task == TransformerTask::kClassification) {
    return model.vocabulary;
  }
  const std::int64_t multiple = std::int64_t{job.framework.vocabulary_multiple} * job.plan.tp;
  return RoundUp(model.vocabulary, multiple);
}

UnitOps BlockOps(const MicrobatchShape& shape, const Transformer& model, const Block& block) {
  LayerWriter writer(shape);
  writer.Norm(block.norm, shape.sharded_tokens, shape.hidden);
  WriteAttention(block.self, model.attention_dropout, writer);
  writer.AddResidual(model.dropout);
  if (block.cross) {
    writer.Norm(block.norm, shape.sharded_tokens, shape.hidden);
    WriteAttention(*block.cross, model.attention_dropout, writer);
    writer.AddResidual(model.dropout);
  }
  WriteMlp(model, block, writer);
  return writer.Finish();
}

UnitOps EmbeddingOps(const MicrobatchShape& shape, const Transformer& model) {
  LayerWriter writer(shape);
  const std::int64_t n = shape.tokens * shape.hidden;
  if (model.patch > 0) {
    writer.Linear(
        {"patches", shape.tokens, 3 * model.patch * model.patch, shape.hidden, Cut::kNothing});
  } else {
    const std::int64_t rows = PaddedVocabulary(*shape.job, model) / shape.tp;
    writer.Forward(OperatorOp("embedding", Category::kEmbedding,
                              Lookup(rows, shape.hidden, shape.tokens, "fwd", shape.type)));
    LayerOp gradient = OperatorOp("embedding", Category::kEmbedding,
                                  Lookup(rows, shape.hidden, shape.tokens, "bwd", shape.type), 4);
    gradient.is_wgrad = true;
    if (!shape.is_frozen()) {
      writer.Backward({gradient});
    }
  }
  if (shape.tp > 1) {
    const bool scatters = shape.plan().sequence_parallel;
    writer.Forward(CommunicationOp(
        scatters ? "scatter embedding" : "sum embedding",
        shape.Over(GroupRole::kTensor,
                   scatters ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce, n)));
    if (scatters) {
      writer.Backward({CommunicationOp(
          "gather gradient", shape.Over(GroupRole::kTensor, CollectiveKind::kAllGather, n))});
    }
  }
  if (model.positions > 0) {
    const std::int64_t e = shape.element_bytes;
    writer.Elements({"positions", "add", "add", n, 2 * e, e, e, e, 2});
  }
  return writer.Finish();
}

UnitOps HeadOps(const MicrobatchShape& shape, const Transformer& model) {
  LayerWriter writer(shape);
  writer.Norm(model.norm, shape.sharded_tokens, shape.hidden);
  if (model.task == TransformerTask::kClassification) {
    writer.Linear({"head", shape.batch, shape.hidden, model.vocabulary, Cut::kNothing});
    return writer.Finish();
  }
  if (model.has_head_transform) {
    writer.Linear({"head transform", shape.tokens, shape.hidden, shape.hidden, Cut::kNothing});
    writer.Norm(model.norm, shape.tokens, shape.hidden);
  }
  const std::int64_t vocabulary = PaddedVocabulary(*shape.job, model);
  writer.Linear({"head", shape.tokens, shape.hidden, vocabulary, Cut::kColumns});
  const std::int64_t cols = vocabulary / shape.tp;
  const std::int64_t logits = shape.tokens * cols;
  const bool is_fused = shape.framework().fuses_cross_entropy || shape.framework().is_compiled;
  if (!is_fused && shape.element_bytes < 4 && shape.is_unfused()) {
    writer.Forward(CastOfLogits(Pass::kForward, {shape.tokens, cols}, shape));
    writer.Backward({CastOfLogits(Pass::kBackward, {shape.tokens, cols}, shape)});
  } else if (!is_fused && shape.element_bytes < 4) {
    writer.Elements({"logits to fp32", "other", "other", logits, 2, 4, 4, 2});
  }
  WriteLoss(cols, is_fused, writer);
  return writer.Finish();
}

UnitOps ExtraPredictionOps(const MicrobatchShape& shape, const Transformer& model) {
  LayerWriter join(shape);
  join.Norm(model.norm, shape.sharded_tokens, shape.hidden);
  join.Norm(model.norm, shape.sharded_tokens, shape.hidden);
  join.Linear({"join", shape.tokens, 2 * shape.hidden, shape.hidden, Cut::kColumns});
  UnitOps sum = join.Finish();
  Append(sum, BlockOps(shape, model, model.blocks.back().block));
  Append(sum, HeadOps(shape, model));
  return sum;
}

std::int64_t OwnedParameters(const Plan& plan, const RankParameters& parameters) {
  if (plan.sharding == Sharding::kReplicated) {
    return parameters.dense + parameters.experts;
  }
  return parameters.dense / DenseShards(plan) + parameters.experts / ExpertShards(plan);
}

std::vector<LayerOp> OptimizerOps(const Job& job, const StageTensors& stage) {
  if (job.training.optimizer == OptimizerKind::kSkipped) {
    return {};
  }
  const StageParameters parameters = stage.Parameters();
  const std::int64_t n = std::max<std::int64_t>(1, OwnedParameters(job.plan, parameters.trained));
  const std::int64_t tensors = std::max<std::int64_t>(1, parameters.num_tensors);
  const Precision& precision = job.training.precision;
  const bool has_master = precision.has_master && precision.compute != DataType::kFp32;
  const bool is_narrow = has_master && precision.gradient_bytes < 4;
  const bool is_scaled = precision.compute == DataType::kFp16;
  const bool scales_once = is_scaled && job.framework.scales_gradients_once;
  const auto over_all = [n](std::string_view name, std::int64_t reads, std::int64_t writes) {
    return OperatorOp(
        name, Category::kOptimizer,
        Elementwise(reads == writes ? "mul" : "other", n, reads, writes, DataType::kFp32));
  };
  std::vector<LayerOp> ops;
  if (is_narrow) {
    ops.push_back(over_all("gradients to fp32", precision.gradient_bytes, 4));
  }
  if (is_scaled && !scales_once) {
    // Gradients were scaled up: they are scaled back, and the step is skipped on overflow.
    ops.push_back(over_all("unscale and check gradients", 4, 4));
  }
  if (is_scaled) {
    AddSumOverAll(job, "overflow anywhere", ops);
  }
  ops.push_back(OperatorOp("norm of gradients", Category::kOptimizer, NormOf(n, tensors), 10));
  AddSumOverAll(job, "sum of norms", ops);
  if (job.plan.offload_optimizer) {
    return ops;  // the host updates
  }
  ops.push_back(over_all(scales_once ? "unscale and clip gradients" : "clip gradients", 4, 4));
  ops.push_back(OperatorOp("update", Category::kOptimizer, Update(job, n, tensors), 4));
  if (has_master) {
    ops.push_back(over_all("masters to parameters", 4, 2));
  }
  AddLogs(job, parameters.trained.dense + parameters.trained.experts, tensors, ops);
  ops.back().calls = job.framework.has_eager_modules ? job.framework.step_calls : 0;
  return ops;
}

void WriteAttention(const Attention& attention, double dropout, LayerWriter& writer) {
  const MicrobatchShape& shape = writer.shape();
  const Core core = CoreOf(attention, shape);
  WriteProjections(attention, writer);
  if (attention.has_qk_norm) {
    writer.Norm(NormKind::kRms, shape.tokens * attention.heads / shape.tp, attention.head_size);
    writer.Norm(NormKind::kRms,
                shape.tokens * std::max<std::int64_t>(1, attention.kv_heads / shape.tp),
                attention.head_size);
  }
  const bool again = attention.latent && shape.plan().recompute_parts.latent_up;
  writer.WritePart(again, [&] { WriteRope(attention, core, writer); });
  WriteContextCommunication(core, true, writer);
  WriteCore(core, dropout, writer);
  WriteContextCommunication(core, false, writer);
  writer.Linear({.name = "projection",
                 .rows = shape.tokens,
                 .in = attention.heads * attention.value_head_size,
                 .out = shape.hidden,
                 .cut = Cut::kRows,
                 .adapted_by = AdapterTargets::kAttention});
}

}  // namespace orrery::workload
