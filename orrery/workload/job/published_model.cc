#include "orrery/workload/job/published_model.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

#include <fmt/core.h>

#include "orrery/base/ascii_case.h"

namespace orrery::workload {
namespace {

constexpr std::int64_t kUsualVocabulary = 51'200;
constexpr std::int64_t kFfnOfHidden = 4;

bool Contains(std::string_view text, std::string_view word) {
  return LowerCase(text).find(LowerCase(word)) != std::string::npos;
}

std::optional<std::int64_t> Integer(const Table& table, std::size_t row, std::string_view column) {
  const auto number = table.NumberInText(row, column);
  return number ? std::optional(std::llround(*number)) : std::nullopt;
}

std::string Text(const Table& table, std::size_t row, std::string_view column) {
  return std::string(table.Text(row, column).value_or(""));
}

// What the activation tells of the family.
struct Family {
  Activation activation = Activation::kGelu;
  bool is_gated = false;
  bool is_gpt = true;  // biases, learned positions, layer norms
  NormKind norm = NormKind::kLayer;
};

Family FamilyOf(std::string_view activation) {
  if (activation == "swiglu") {
    return {Activation::kSilu, true, false, NormKind::kRms};
  }
  if (activation == "geglu") {
    return {Activation::kGelu, true, false, NormKind::kRms};
  }
  if (activation == "sqrelu") {
    return {Activation::kSquaredRelu, false, false, NormKind::kLayer};
  }
  return {};
}

struct Sizes {
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t ffn = 0;
};

Attention AttentionOf(const Sizes& sizes, const Family& family) {
  Attention attention;
  attention.heads = sizes.heads;
  attention.kv_heads = sizes.kv_heads;
  attention.head_size = sizes.hidden / sizes.heads;
  attention.value_head_size = attention.head_size;
  attention.has_bias = family.is_gpt;
  attention.has_rope = !family.is_gpt;
  return attention;
}

Result<Sizes> ReadSizes(const Table& table, std::size_t row) {
  Sizes sizes;
  const auto layers = Integer(table, row, "layers");
  const auto hidden = Integer(table, row, "hidden");
  const auto heads = Integer(table, row, "heads");
  if (!layers || !hidden || !heads) {
    return Fail(Error::Kind::kUnsupported, "the row does not say layers, hidden size and heads");
  }
  sizes.layers = *layers;
  sizes.hidden = *hidden;
  sizes.heads = *heads;
  sizes.kv_heads = Integer(table, row, "kv_heads").value_or(*heads);
  sizes.ffn = Integer(table, row, "ffn").value_or(kFfnOfHidden * *hidden);
  return sizes;
}

}  // namespace

Result<Model> PublishedModel(const Table& table, std::size_t row, const Job& job,
                             std::vector<std::string>& assumptions) {
  ORRERY_TRY(const Sizes sizes, ReadSizes(table, row));
  const Family family = FamilyOf(Text(table, row, "ffn_act"));
  Transformer transformer;
  transformer.hidden = sizes.hidden;
  transformer.norm = family.norm;
  const auto vocabulary = Integer(table, row, "vocab");
  if (!vocabulary) {
    assumptions.push_back(fmt::format("vocabulary of {}", kUsualVocabulary));
  }
  transformer.vocabulary = vocabulary.value_or(kUsualVocabulary);
  const std::string tied = Text(table, row, "tied_embed");
  transformer.is_tied = tied.empty() ? family.is_gpt : tied.starts_with("yes");
  transformer.positions = family.is_gpt ? job.training.sequence : 0;
  // GPT as Megatron trains it drops; MPT and everything after it does not.
  const double dropout = family.is_gpt && Contains(job.framework.name, "megatron") ? 0.1 : 0.0;
  transformer.dropout = dropout;
  transformer.attention_dropout = dropout;

  Block block;
  block.self = AttentionOf(sizes, family);
  block.norm = family.norm;
  FeedForward mlp = {sizes.ffn, family.activation, family.is_gated, family.is_gpt};
  if (const auto experts = Integer(table, row, "moe_experts"); experts && *experts > 1) {
    mlp.width = Integer(table, row, "moe_ffn").value_or(sizes.ffn);
    block.mlp = Experts{*experts, Integer(table, row, "moe_topk").value_or(2), mlp, std::nullopt};
  } else {
    block.mlp = mlp;
  }
  transformer.blocks.push_back({block, sizes.layers});
  return Model{Text(table, row, "model"), transformer};
}

}  // namespace orrery::workload
