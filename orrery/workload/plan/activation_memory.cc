#include "orrery/workload/plan/activation_memory.h"

#include <algorithm>
#include <cmath>

#include "orrery/base/round_up.h"
#include "orrery/workload/plan/expert_load.h"

namespace orrery::workload {
namespace {

constexpr std::int64_t kFp32Bytes = 4;
constexpr std::int64_t kMaskBytes = 1;

/// Counts bytes of one micro-batch on one rank from elements of one token.
class TokenBytes {
 public:
  explicit TokenBytes(const ActivationSetting& setting)
      : element_(
            static_cast<std::int64_t>(kernel::ElementBytes(setting.training.precision.compute))),
        product_input_(static_cast<std::int64_t>(
            std::ceil(kernel::ElementBytes(setting.training.precision.products)))),
        tokens_(setting.training.micro_batch *
                DivideUp(std::max<std::int64_t>(setting.training.sequence, 1), setting.plan.cp)),
        tp_(setting.plan.tp),
        sequence_parts_(setting.plan.sequence_parallel ? setting.plan.tp : 1) {}

  [[nodiscard]] std::int64_t tokens() const { return tokens_; }

  /// Tokens that a rank holds where tensor parallelism repeats work.
  [[nodiscard]] std::int64_t own_tokens() const { return DivideUp(tokens_, sequence_parts_); }

  /// Of an activation.
  [[nodiscard]] std::int64_t element() const { return element_; }

  /// Of what a matrix product keeps: narrower where products are.
  [[nodiscard]] std::int64_t product_input() const { return std::min(product_input_, element_); }

  /// What tensor parallelism repeats on its ranks unless sequence parallelism divides it.
  [[nodiscard]] std::int64_t Repeated(std::int64_t bytes_per_token) const {
    return DivideUp(tokens_ * bytes_per_token, sequence_parts_);
  }

  /// What tensor parallelism divides.
  [[nodiscard]] std::int64_t Divided(std::int64_t bytes_per_token) const {
    return DivideUp(tokens_ * bytes_per_token, tp_);
  }

 private:
  std::int64_t element_;
  std::int64_t product_input_;
  std::int64_t tokens_;
  std::int64_t tp_;
  std::int64_t sequence_parts_;
};

/// Bytes of a token that stay behind a norm. An unfused RMS norm keeps a copy in fp32 and its
/// result before the scale instead of its input.
std::int64_t NormInput(const Block& block, const ActivationSetting& setting,
                       const TokenBytes& bytes) {
  const bool is_spelled_out = block.norm == NormKind::kRms && !setting.framework.fuses_norm &&
                              !setting.framework.is_compiled;
  return setting.model.hidden * (bytes.element() + (is_spelled_out ? kFp32Bytes : 0));
}

/// Narrow vectors of latent attention: inputs of their norms and of the products that follow.
std::int64_t LatentVectors(const LatentAttention& latent, const TokenBytes& bytes) {
  const std::int64_t ranks = latent.query_rank + latent.key_value_rank;
  return ranks * (bytes.element() + bytes.product_input()) + latent.rope_size * bytes.element();
}

/// Elements of queries, keys and values of a token, all ranks together; ranks that are more than
/// heads of keys have a head each.
std::int64_t QueryKeyValueElements(const Attention& attention, const Plan& plan) {
  const std::int64_t rope = attention.latent ? attention.latent->rope_size : 0;
  const std::int64_t key_heads =
      std::max<std::int64_t>(attention.latent ? attention.heads : attention.kv_heads, plan.tp);
  return attention.heads * (attention.head_size + rope) +
         key_heads * (attention.head_size + rope + attention.value_head_size);
}

/// Inputs of products whose columns are cut: every rank's part of the sequence, or all of it.
std::int64_t ColumnInputs(const ActivationSetting& setting, const TokenBytes& bytes) {
  const std::int64_t vector = setting.model.hidden * bytes.product_input();
  return setting.framework.keeps_gathered_inputs ? bytes.tokens() * vector : bytes.Repeated(vector);
}

void AddAttention(BlockActivations& sum, const Attention& attention,
                  const ActivationSetting& setting, const TokenBytes& bytes) {
  sum.attention += ColumnInputs(setting, bytes);
  if (attention.latent) {
    sum.attention += bytes.Repeated(LatentVectors(*attention.latent, bytes));
  }
  sum.attention += bytes.Divided(QueryKeyValueElements(attention, setting.plan) * bytes.element());
  sum.attention +=
      bytes.Divided(attention.heads * attention.value_head_size * bytes.product_input());
  if (setting.model.dropout > 0) {
    sum.norms += bytes.Repeated(setting.model.hidden * kMaskBytes);
  }
}

/// Scores of materialised attention: softmax, and with dropout a mask and the result. Flash
/// attention keeps a sum for each row.
std::int64_t CoreBytes(const Attention& attention, const ActivationSetting& setting,
                       const TokenBytes& bytes) {
  if (setting.framework.attention != AttentionKernel::kMaterialised) {
    return bytes.Divided(attention.heads * kFp32Bytes);
  }
  const bool has_dropout = setting.model.attention_dropout > 0;
  const std::int64_t score = bytes.element() + (has_dropout ? kMaskBytes + bytes.element() : 0);
  return bytes.Divided(attention.heads * setting.training.sequence * score);
}

/// What is kept between the two products: inputs of the activation, and of the second product.
/// Unfused, a gate's activation is kept as well.
std::int64_t InnerBytes(const FeedForward& mlp, const ActivationSetting& setting,
                        const TokenBytes& bytes) {
  const bool is_fused = setting.framework.fuses_bias_activation || setting.framework.is_compiled;
  const std::int64_t before = mlp.is_gated ? (is_fused ? 2 : 3) : 1;
  return mlp.width * (before * bytes.element() + bytes.product_input());
}

/// Routed tokens of the busiest rank: dispatched vectors and what the experts keep.
std::int64_t RoutedBytes(const Experts& experts, const ActivationSetting& setting,
                         const TokenBytes& bytes) {
  const double tokens = TokensOfExpertRank(experts, setting.plan, bytes.own_tokens()).busiest;
  const std::int64_t vector = setting.model.hidden * bytes.product_input() * setting.plan.expert_tp;
  const std::int64_t inner = InnerBytes(experts.expert, setting, bytes);
  return static_cast<std::int64_t>(std::llround(tokens * static_cast<double>(vector + inner)));
}

void AddExperts(BlockActivations& sum, const Experts& experts, const ActivationSetting& setting,
                const TokenBytes& bytes) {
  // Probabilities of all experts, then index and weight of each choice.
  sum.mlp += bytes.Repeated(kFp32Bytes * (experts.count + 2 * experts.per_token));
  sum.experts += RoutedBytes(experts, setting, bytes);
  if (experts.shared) {
    sum.mlp += bytes.Divided(InnerBytes(*experts.shared, setting, bytes));
  }
}

void AddMlp(BlockActivations& sum, const Block& block, const ActivationSetting& setting,
            const TokenBytes& bytes) {
  sum.mlp += ColumnInputs(setting, bytes);
  if (const Experts* const experts = block.experts()) {
    AddExperts(sum, *experts, setting, bytes);
  } else {
    sum.mlp += bytes.Divided(InnerBytes(*block.feed_forward(), setting, bytes));
  }
  if (setting.model.dropout > 0) {
    sum.norms += bytes.Repeated(setting.model.hidden * kMaskBytes);
  }
}

}  // namespace

BlockActivations ActivationsOf(const Block& block, const ActivationSetting& setting) {
  const TokenBytes bytes(setting);
  const std::int64_t norm = bytes.Repeated(NormInput(block, setting, bytes));
  BlockActivations sum{.input = BlockOutputBytes(setting)};
  sum.norms = norm - sum.input;
  // Both branches of a parallel block read the block's input.
  sum.norms += block.is_parallel ? 0 : norm;
  AddAttention(sum, block.self, setting, bytes);
  sum.core += CoreBytes(block.self, setting, bytes);
  if (block.cross) {
    sum.norms += norm;
    AddAttention(sum, *block.cross, setting, bytes);
    sum.core += CoreBytes(*block.cross, setting, bytes);
  }
  AddMlp(sum, block, setting, bytes);
  return sum;
}

std::int64_t WorkingBytes(const Block& block, const ActivationSetting& setting) {
  const TokenBytes bytes(setting);
  const Attention& self = block.self;
  const std::int64_t core =
      setting.framework.attention == AttentionKernel::kMaterialised
          ? bytes.Divided(2 * self.heads * setting.training.sequence * bytes.element())
          : 0;
  const std::int64_t attention =
      core + bytes.Divided(QueryKeyValueElements(self, setting.plan) * bytes.element());
  std::int64_t mlp = 0;
  if (const Experts* const experts = block.experts()) {
    mlp = RoutedBytes(*experts, setting, bytes);
  } else {
    mlp = bytes.Divided(InnerBytes(*block.feed_forward(), setting, bytes));
  }
  // The gradient of the residual and that of the branch; gathered along the sequence where it is
  // cut.
  const std::int64_t vector = setting.model.hidden * bytes.element();
  const std::int64_t gathered = setting.plan.sequence_parallel ? bytes.tokens() * vector : 0;
  return std::max(attention, mlp) + 2 * bytes.Repeated(vector) + gathered;
}

Recompute RecomputeOf(const Plan& plan, int block_of_stage) {
  const bool is_beyond = plan.recompute_layers > 0 && block_of_stage >= plan.recompute_layers;
  return plan.recompute == Recompute::kFull && is_beyond ? Recompute::kNothing : plan.recompute;
}

std::int64_t KeptBytes(const BlockActivations& activations, const Plan& plan, Recompute recompute) {
  if (recompute == Recompute::kFull) {
    return activations.input;
  }
  const std::int64_t core = recompute == Recompute::kSelective ? activations.core : 0;
  return activations.total() - core - (plan.recompute_experts ? activations.experts : 0);
}

std::int64_t EmbeddingActivationBytes(const ActivationSetting& setting) {
  return setting.model.dropout > 0 ? TokenBytes(setting).Repeated(setting.model.hidden * kMaskBytes)
                                   : 0;
}

HeadActivations HeadActivationsOf(const ActivationSetting& setting, std::int64_t vocabulary) {
  const TokenBytes bytes(setting);
  const bool is_fused = setting.framework.fuses_cross_entropy || setting.framework.is_compiled;
  return {.inputs = bytes.Repeated(setting.model.hidden * 2 * bytes.element()),
          .logits = bytes.Divided(vocabulary * kFp32Bytes),
          .working = is_fused ? 0 : bytes.Divided(vocabulary * (bytes.element() + 2 * kFp32Bytes))};
}

std::int64_t BlockOutputBytes(const ActivationSetting& setting) {
  const TokenBytes bytes(setting);
  return bytes.Repeated(setting.model.hidden * bytes.element());
}

}  // namespace orrery::workload
