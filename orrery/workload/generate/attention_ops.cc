#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/workload/generate/block_ops.h"
#include "orrery/workload/generate/operators.h"
#include "orrery/workload/generate/unfused.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::workload {
namespace {

using collective::CollectiveKind;
using kernel::Key;
using kernel::OperatorKind;

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

kernel::Operator Flash(const Core& core, std::int64_t keys, std::string_view pass,
                       kernel::DataType type) {
  // Values that are narrower than keys count as half of what they save.
  const std::int64_t size = (core.head_size + core.value_size) / 2;
  return kernel::Operator(OperatorKind::kAttention, type)
      .Set(Key::kB, core.batch)
      .Set(Key::kHeads, core.heads)
      .Set(Key::kKvHeads, core.kv_heads)
      .Set(Key::kQueryLength, core.queries)
      .Set(Key::kKeyLength, keys)
      .Set(Key::kHeadSize, size)
      .Set(Key::kCausal, core.is_causal ? 1 : 0)
      .Set(Key::kWindow, core.window)
      .Set(Key::kPass, pass);
}

// Elements of keys and values that one rank holds.
std::int64_t KeyValueElements(const Core& core) {
  return core.batch * core.queries * core.kv_heads * (core.head_size + core.value_size);
}

Communication OverContext(const MicrobatchShape& shape, CollectiveKind kind, std::int64_t elements,
                          int overlapped_ops) {
  return {GroupRole::kContext, kind, elements * shape.element_bytes, shape.element, overlapped_ops};
}

Communication AroundRing(const MicrobatchShape& shape, std::int64_t elements) {
  Communication communication = OverContext(shape, CollectiveKind::kSendRecv, elements, 1);
  communication.role = shape.plan().context == ContextKind::kUlyssesRing ? GroupRole::kContextRing
                                                                         : GroupRole::kContext;
  return communication;
}

// Ring attention: the next keys and values are received while attention works on the present ones.
void WriteRing(const Core& core, LayerWriter& writer) {
  const MicrobatchShape& shape = writer.shape();
  const int ranks = ContextRanksOf(shape.plan()).ring;
  const std::int64_t keys = std::max<std::int64_t>(1, core.keys / ranks);
  const std::int64_t elements = KeyValueElements(core);
  std::vector<LayerOp> backward;
  for (int hop = 0; hop < ranks; ++hop) {
    if (hop + 1 < ranks) {
      writer.Forward(CommunicationOp("pass keys on", AroundRing(shape, elements)));
    }
    writer.Forward(OperatorOp("attention", Category::kAttention,
                              Flash(core, keys, "fwd", shape.type), hop == 0 ? 2 : 3));
    backward.push_back(CommunicationOp(
        "pass keys on", AroundRing(shape, hop + 1 < ranks ? 2 * elements : elements)));
    backward.push_back(
        OperatorOp("attention", Category::kAttention, Flash(core, keys, "bwd", shape.type), 3));
  }
  writer.Backward(std::move(backward));
}

void WriteFlash(const Core& core, LayerWriter& writer) {
  const MicrobatchShape& shape = writer.shape();
  writer.Forward(
      OperatorOp("attention", Category::kAttention, Flash(core, core.keys, "fwd", shape.type)));
  writer.Backward({OperatorOp("attention", Category::kAttention,
                              Flash(core, core.keys, "bwd", shape.type), 2)});
}

LayerOp OfAttention(std::string_view name, const kernel::Operator& op) {
  return OperatorOp(name, Category::kAttention, op);
}

// Materialised scores: two GEMMs with a softmax between them, and dropout of probabilities.
void WriteMaterialised(const Core& core, double dropout, LayerWriter& writer) {
  const kernel::DataType type = writer.shape().type;
  const Framework& framework = writer.shape().framework();
  const bool is_unfused = !framework.fuses_softmax && !framework.is_compiled;
  const std::int64_t e = writer.shape().element_bytes;
  const std::int64_t heads = core.batch * core.heads;
  const std::int64_t scores = heads * core.queries * core.keys;
  const kernel::Operator to_scores =
      BatchedGemm(heads, core.queries, core.keys, core.head_size, writer.shape().score_gemm_type());
  const kernel::Operator from_scores =
      BatchedGemm(heads, core.queries, core.head_size, core.keys, writer.shape().score_gemm_type());
  writer.WritePart(writer.shape().plan().recompute == Recompute::kSelective, [&] {
    writer.Forward(OfAttention("scores", to_scores));
    if (is_unfused) {
      writer.Forward(OfAttention("scale", Elementwise("div", scores, e, e, type)));
      writer.Forward(OfAttention("mask", Elementwise("where", scores, e, e, type)));
    }
    writer.Forward(OfAttention(
        "softmax", RowWise(OperatorKind::kSoftmax, heads * core.queries, core.keys, "fwd", type)));
    if (dropout > 0) {
      writer.Forward(OfAttention("dropout", Elementwise("mul", scores, e, e + 1, type)));
    }
    writer.Forward(OfAttention("values", from_scores));
  });
  std::vector<LayerOp> backward = {OfAttention("values", to_scores),
                                   OfAttention("values", from_scores)};
  if (dropout > 0) {
    backward.push_back(OfAttention("dropout", Elementwise("mul", scores, e + 1, e, type)));
  }
  backward.push_back(OfAttention(
      "softmax", RowWise(OperatorKind::kSoftmax, heads * core.queries, core.keys, "bwd", type)));
  if (is_unfused) {
    backward.push_back(OfAttention("mask", Elementwise("where", scores, e, e, type)));
    backward.push_back(OfAttention("scale", Elementwise("div", scores, e, e, type)));
  }
  backward.push_back(OfAttention("scores", from_scores));
  backward.push_back(OfAttention("scores", from_scores));
  writer.Backward(std::move(backward));
}

void WriteCore(const Core& core, double dropout, LayerWriter& writer) {
  if (writer.shape().framework().attention == AttentionKernel::kMaterialised) {
    WriteMaterialised(core, dropout, writer);
  } else if (ContextRanksOf(writer.shape().plan()).ring > 1) {
    WriteRing(core, writer);
  } else {
    WriteFlash(core, writer);
  }
}

// Before and after the core: context parallelism without a ring.
void WriteContextCommunication(const Core& core, bool is_before, LayerWriter& writer) {
  const MicrobatchShape& shape = writer.shape();
  const Plan& plan = shape.plan();
  const int dealing = ContextRanksOf(plan).ulysses;
  const bool is_ulysses = dealing > 1;
  const bool gathers = plan.cp > 1 && plan.context == ContextKind::kAllGather && is_before;
  if (!is_ulysses && !gathers) {
    return;
  }
  // Per rank: its tokens of all heads; Ulysses re-shards from tokens to heads.
  const std::int64_t own_tokens = shape.batch * shape.sequence / plan.cp;
  const std::int64_t widths =
      is_before ? core.heads * core.head_size + core.kv_heads * (core.head_size + core.value_size)
                : core.heads * core.value_size;
  const std::int64_t elements =
      is_ulysses ? own_tokens * widths * dealing : KeyValueElements(core) * plan.cp;
  writer.Forward(CommunicationOp(
      is_ulysses ? "deal heads" : "gather keys",
      OverContext(shape, is_ulysses ? CollectiveKind::kAllToAll : CollectiveKind::kAllGather,
                  elements, 0)));
  writer.Backward({CommunicationOp(
      is_ulysses ? "deal heads" : "scatter keys",
      OverContext(shape, is_ulysses ? CollectiveKind::kAllToAll : CollectiveKind::kReduceScatter,
                  elements, 0))});
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
    for (LayerOp& op : UnfusedRope(Pass::kForward, {shape.tokens, heads * size}, shape)) {
      writer.Forward(std::move(op));
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
                   .has_adapter = true});
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
                 .has_adapter = true});
}

}  // namespace orrery::workload
