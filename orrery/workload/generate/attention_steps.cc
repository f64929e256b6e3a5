#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/workload/generate/block_steps.h"
#include "orrery/workload/generate/operators.h"
#include "orrery/workload/generate/spelled_out.h"
#include "orrery/workload/plan/context_ranks.h"

namespace orrery::workload {
namespace {

using collective::CollectiveKind;
using kernel::Key;
using kernel::OperatorKind;

// The core of attention on one rank: after exchanges of context parallelism.
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

Core CoreOf(const Attention& attention, const Scene& scene) {
  const Plan& plan = scene.plan();
  Core core;
  core.batch = scene.batch;
  core.heads = std::max<std::int64_t>(1, attention.heads / scene.tp);
  core.kv_heads = std::max<std::int64_t>(1, attention.kv_heads / scene.tp);
  const ContextRanks ranks = ContextRanksOf(plan);
  core.heads = std::max<std::int64_t>(1, core.heads / ranks.dealing);
  core.kv_heads = std::max<std::int64_t>(1, core.kv_heads / ranks.dealing);
  core.queries = scene.sequence / (plan.cp / ranks.dealing);
  core.keys = scene.sequence;
  core.head_size =
      attention.head_size + (attention.latent ? attention.latent->rope_size : std::int64_t{0});
  core.value_size = attention.value_head_size;
  core.is_causal = attention.is_causal;
  core.window = attention.window;
  if (core.queries < scene.sequence && core.is_causal) {
    // Dealt evenly, each rank's queries see half of all keys on average; else the last one sees
    // almost all of them, and all wait for it.
    core.is_causal = false;
    core.keys = plan.context_is_balanced ? scene.sequence / 2 : scene.sequence - core.queries / 2;
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

Exchange OverContext(const Scene& scene, CollectiveKind kind, std::int64_t elements, int beside) {
  return {Slot::kContext, kind, elements * scene.element_bytes, scene.element, beside};
}

Exchange AroundRing(const Scene& scene, std::int64_t elements) {
  Exchange exchange = OverContext(scene, CollectiveKind::kSendRecv, elements, 1);
  exchange.slot =
      scene.plan().context == ContextKind::kUlyssesRing ? Slot::kContextRing : Slot::kContext;
  return exchange;
}

// Keys and values go round; the next ones travel while attention works on those that are here.
void WriteRing(const Core& core, LayerWriter& writer) {
  const Scene& scene = writer.scene();
  const int ranks = ContextRanksOf(scene.plan()).ring;
  const std::int64_t keys = std::max<std::int64_t>(1, core.keys / ranks);
  const std::int64_t elements = KeyValueElements(core);
  std::vector<Step> backward;
  for (int hop = 0; hop < ranks; ++hop) {
    if (hop + 1 < ranks) {
      writer.Forward(ExchangeStep("pass keys on", AroundRing(scene, elements)));
    }
    writer.Forward(OperatorStep("attention", Category::kAttention,
                                Flash(core, keys, "fwd", scene.type), hop == 0 ? 2 : 3));
    backward.push_back(
        ExchangeStep("pass keys on", AroundRing(scene, hop + 1 < ranks ? 2 * elements : elements)));
    backward.push_back(
        OperatorStep("attention", Category::kAttention, Flash(core, keys, "bwd", scene.type), 3));
  }
  writer.Backward(std::move(backward));
}

void WriteFlash(const Core& core, LayerWriter& writer) {
  const Scene& scene = writer.scene();
  writer.Forward(
      OperatorStep("attention", Category::kAttention, Flash(core, core.keys, "fwd", scene.type)));
  writer.Backward({OperatorStep("attention", Category::kAttention,
                                Flash(core, core.keys, "bwd", scene.type), 2)});
}

Step OfAttention(std::string_view name, const kernel::Operator& op) {
  return OperatorStep(name, Category::kAttention, op);
}

// Scores in memory: two products with a softmax between them, and dropout of probabilities.
void WriteMaterialised(const Core& core, double dropout, LayerWriter& writer) {
  const kernel::DataType type = writer.scene().type;
  const Framework& framework = writer.scene().framework();
  const bool is_spelled_out = !framework.fuses_softmax && !framework.is_compiled;
  const std::int64_t e = writer.scene().element_bytes;
  const std::int64_t heads = core.batch * core.heads;
  const std::int64_t scores = heads * core.queries * core.keys;
  const kernel::Operator to_scores = BatchedProduct(heads, core.queries, core.keys, core.head_size,
                                                    writer.scene().score_products());
  const kernel::Operator from_scores = BatchedProduct(heads, core.queries, core.head_size,
                                                      core.keys, writer.scene().score_products());
  writer.WritePart(writer.scene().plan().recompute == Recompute::kSelective, [&] {
    writer.Forward(OfAttention("scores", to_scores));
    if (is_spelled_out) {
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
  std::vector<Step> backward = {OfAttention("values", to_scores),
                                OfAttention("values", from_scores)};
  if (dropout > 0) {
    backward.push_back(OfAttention("dropout", Elementwise("mul", scores, e + 1, e, type)));
  }
  backward.push_back(OfAttention(
      "softmax", RowWise(OperatorKind::kSoftmax, heads * core.queries, core.keys, "bwd", type)));
  if (is_spelled_out) {
    backward.push_back(OfAttention("mask", Elementwise("where", scores, e, e, type)));
    backward.push_back(OfAttention("scale", Elementwise("div", scores, e, e, type)));
  }
  backward.push_back(OfAttention("scores", from_scores));
  backward.push_back(OfAttention("scores", from_scores));
  writer.Backward(std::move(backward));
}

void WriteCore(const Core& core, double dropout, LayerWriter& writer) {
  if (writer.scene().framework().attention == AttentionKernel::kMaterialised) {
    WriteMaterialised(core, dropout, writer);
  } else if (ContextRanksOf(writer.scene().plan()).ring > 1) {
    WriteRing(core, writer);
  } else {
    WriteFlash(core, writer);
  }
}

// Before and after the core, context parallelism that does not go round.
void WriteContextExchange(const Core& core, bool is_before, LayerWriter& writer) {
  const Scene& scene = writer.scene();
  const Plan& plan = scene.plan();
  const int dealing = ContextRanksOf(plan).dealing;
  const bool is_ulysses = dealing > 1;
  const bool gathers = plan.cp > 1 && plan.context == ContextKind::kAllGather && is_before;
  if (!is_ulysses && !gathers) {
    return;
  }
  // Per rank: its tokens of all heads; Ulysses deals heads where tokens were dealt.
  const std::int64_t own_tokens = scene.batch * scene.sequence / plan.cp;
  const std::int64_t widths =
      is_before ? core.heads * core.head_size + core.kv_heads * (core.head_size + core.value_size)
                : core.heads * core.value_size;
  const std::int64_t elements =
      is_ulysses ? own_tokens * widths * dealing : KeyValueElements(core) * plan.cp;
  writer.Forward(ExchangeStep(
      is_ulysses ? "deal heads" : "gather keys",
      OverContext(scene, is_ulysses ? CollectiveKind::kAllToAll : CollectiveKind::kAllGather,
                  elements, 0)));
  writer.Backward({ExchangeStep(
      is_ulysses ? "deal heads" : "scatter keys",
      OverContext(scene, is_ulysses ? CollectiveKind::kAllToAll : CollectiveKind::kReduceScatter,
                  elements, 0))});
}

void WriteRope(const Attention& attention, const Core& core, LayerWriter& writer) {
  if (!attention.has_rope) {
    return;
  }
  const Scene& scene = writer.scene();
  const std::int64_t size = attention.latent ? attention.latent->rope_size : attention.head_size;
  const std::int64_t heads = std::max<std::int64_t>(1, attention.heads / scene.tp) +
                             (attention.latent ? 1 : core.kv_heads);
  const std::int64_t n = scene.tokens * heads * size;
  if (scene.is_spelled_out()) {
    for (Step& step : SpelledOutRope(Pass::kForward, {scene.tokens, heads * size}, scene)) {
      writer.Forward(std::move(step));
    }
    writer.Backward(SpelledOutRope(Pass::kBackward, {scene.tokens, heads * size}, scene));
    return;
  }
  const std::int64_t e = scene.element_bytes;
  // Unfused: two products, a turned copy and a sum, for queries and for keys.
  const bool is_fused = scene.framework().fuses_rope || scene.framework().is_compiled;
  const std::int64_t passes = is_fused ? 1 : 4;
  writer.Elements(
      {"rope", "mul", "mul", n, passes * e, passes * e, passes * e, passes * e, is_fused ? 2 : 10});
}

void WriteProjections(const Attention& attention, LayerWriter& writer) {
  const Scene& scene = writer.scene();
  const std::int64_t rows = scene.tokens;
  const std::int64_t hidden = scene.hidden;
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
  const bool again = scene.plan().recompute_parts.latent_up;
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
  const Scene& scene = writer.scene();
  const Core core = CoreOf(attention, scene);
  WriteProjections(attention, writer);
  if (attention.has_qk_norm) {
    writer.Norm(NormKind::kRms, scene.tokens * attention.heads / scene.tp, attention.head_size);
    writer.Norm(NormKind::kRms,
                scene.tokens * std::max<std::int64_t>(1, attention.kv_heads / scene.tp),
                attention.head_size);
  }
  const bool again = attention.latent && scene.plan().recompute_parts.latent_up;
  writer.WritePart(again, [&] { WriteRope(attention, core, writer); });
  WriteContextExchange(core, true, writer);
  WriteCore(core, dropout, writer);
  WriteContextExchange(core, false, writer);
  writer.Linear({.name = "projection",
                 .rows = scene.tokens,
                 .in = attention.heads * attention.value_head_size,
                 .out = scene.hidden,
                 .cut = Cut::kRows,
                 .has_adapter = true});
}

}  // namespace orrery::workload
