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
        gemm_input_(static_cast<std::int64_t>(
            std::ceil(kernel::ElementBytes(setting.training.precision.gemm_type)))),
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
  [[nodiscard]] std::int64_t gemm_input() const { return std::min(gemm_input_, element_); }

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
  std::int64_t gemm_input_;
  std::int64_t tokens_;
  std::int64_t tp_;
  std::int64_t sequence_parts_;
};

/// Bytes of a token that stay behind a norm. An unfused RMS norm keeps a copy in fp32 and its
/// result before the scale instead of its input.
std::int64_t NormInput(const Block& block, const ActivationSetting& setting,
                       const TokenBytes& bytes) {
  const bool is_unfused = block.norm == NormKind::kRms && !setting.framework.fuses_norm &&
                          !setting.framework.is_compiled;
  return setting.model.hidden * (bytes.element() + (is_unfused ? kFp32Bytes : 0));
}

/// Bytes of a token that the norm before products makes and nobody else keeps: not where all of a
/// cut sequence is kept behind it.
std::int64_t NormResult(const ActivationSetting& setting, const TokenBytes& bytes) {
  const bool keeps_all = setting.framework.keeps_gathered_inputs && setting.plan.sequence_parallel;
  return keeps_all ? 0 : bytes.Repeated(setting.model.hidden * bytes.gemm_input());
}

/// Narrow vectors of latent attention: inputs of their norms and of the products that follow.
std::int64_t LatentVectors(const LatentAttention& latent, const TokenBytes& bytes) {
  const std::int64_t ranks = latent.query_rank + latent.key_value_rank;
  return ranks * (bytes.element() + bytes.gemm_input()) + latent.rope_size * bytes.element();
}

/// Elements of queries, keys and values of a token that come from narrow vectors.
std::int64_t LatentElements(const Attention& attention) {
  const LatentAttention& latent = *attention.latent;
  const std::int64_t key = attention.head_size + latent.rope_size;
  const std::int64_t query = latent.query_rank > 0 ? key : 0;
  return attention.heads * (query + key + attention.value_head_size);
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
  const std::int64_t vector = setting.model.hidden * bytes.gemm_input();
  return setting.framework.keeps_gathered_inputs ? bytes.tokens() * vector : bytes.Repeated(vector);
}

void AddAttention(BlockActivations& sum, const Attention& attention,
                  const ActivationSetting& setting, const TokenBytes& bytes) {
  sum.attention += ColumnInputs(setting, bytes);
  sum.norm_results += NormResult(setting, bytes);
  if (attention.latent) {
    const LatentAttention& latent = *attention.latent;
    sum.attention += bytes.Repeated(LatentVectors(latent, bytes));
    sum.norm_results +=
        bytes.Repeated((latent.query_rank + latent.key_value_rank) * bytes.gemm_input());
    sum.latent_results += bytes.Divided(LatentElements(attention) * bytes.element());
  }
  sum.attention += bytes.Divided(QueryKeyValueElements(attention, setting.plan) * bytes.element());
  sum.attention += bytes.Divided(attention.heads * attention.value_head_size * bytes.gemm_input());
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

/// What a token keeps between the two products of a feed-forward network.
struct InnerBytes {
  std::int64_t inputs = 0;   // of the activation
  std::int64_t results = 0;  // the input of the second product; unfused, a gate's activation too

  [[nodiscard]] std::int64_t sum() const { return inputs + results; }
};

InnerBytes InnerBytesOf(const FeedForward& mlp, const ActivationSetting& setting,
                        const TokenBytes& bytes) {
  const bool is_fused = setting.framework.fuses_bias_activation || setting.framework.is_compiled;
  const int narrow = setting.training.precision.activation_input_bytes;
  const std::int64_t input = narrow > 0 ? narrow : bytes.element();
  const std::int64_t gate = mlp.is_gated && !is_fused ? bytes.element() : 0;
  return {.inputs = mlp.width * (mlp.is_gated ? 2 : 1) * input,
          .results = mlp.width * (gate + bytes.gemm_input())};
}

/// Routed tokens of the busiest rank, times what each has.
std::int64_t Routed(const Experts& experts, const ActivationSetting& setting,
                    const TokenBytes& bytes, std::int64_t bytes_per_token) {
  const double tokens = TokensOfExpertRank(experts, setting.plan, bytes.own_tokens()).busiest;
  return static_cast<std::int64_t>(std::llround(tokens * static_cast<double>(bytes_per_token)));
}

/// Dispatched vectors and what the experts keep.
std::int64_t RoutedBytes(const Experts& experts, const ActivationSetting& setting,
                         const TokenBytes& bytes) {
  const std::int64_t vector = setting.model.hidden * bytes.gemm_input() * setting.plan.expert_tp;
  const std::int64_t inner = InnerBytesOf(experts.expert, setting, bytes).sum();
  return Routed(experts, setting, bytes, vector + inner);
}

void AddExperts(BlockActivations& sum, const Experts& experts, const ActivationSetting& setting,
                const TokenBytes& bytes) {
  // Probabilities of all experts, then index and weight of each choice.
  sum.experts += bytes.Repeated(kFp32Bytes * (experts.count + 2 * experts.per_token));
  sum.experts += RoutedBytes(experts, setting, bytes);
  sum.activation_results +=
      Routed(experts, setting, bytes, InnerBytesOf(experts.expert, setting, bytes).results);
  if (experts.shared) {
    const InnerBytes shared = InnerBytesOf(*experts.shared, setting, bytes);
    sum.experts += bytes.Divided(shared.sum());
    sum.activation_results += bytes.Divided(shared.results);
  }
}

void AddMlp(BlockActivations& sum, const Block& block, const ActivationSetting& setting,
            const TokenBytes& bytes) {
  sum.mlp += ColumnInputs(setting, bytes);
  sum.norm_results += NormResult(setting, bytes);
  if (const Experts* const experts = block.experts()) {
    AddExperts(sum, *experts, setting, bytes);
  } else {
    const InnerBytes inner = InnerBytesOf(*block.feed_forward(), setting, bytes);
    sum.mlp += bytes.Divided(inner.sum());
    sum.activation_results += bytes.Divided(inner.results);
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
    mlp = bytes.Divided(InnerBytesOf(*block.feed_forward(), setting, bytes).sum());
  }
  // The gradient of the residual and that of the branch; gathered along the sequence where it is
  // cut.
  const std::int64_t vector = setting.model.hidden * bytes.element();
  const std::int64_t gathered = setting.plan.sequence_parallel ? bytes.tokens() * vector : 0;
  return std::max(attention, mlp) + 2 * bytes.Repeated(vector) + gathered;
}

Recompute RecomputeOf(const Plan& plan, const BlockPlace& place) {
  if (plan.recompute != Recompute::kFull) {
    return plan.recompute;
  }
  const auto recomputed_of = [&](int blocks) {
    return std::floor(blocks * plan.recompute_share + 0.5);
  };
  const bool is_beyond = plan.recompute_layers > 0 && place.of_stage >= plan.recompute_layers;
  const bool is_left_out = recomputed_of(place.of_model + 1) == recomputed_of(place.of_model);
  return is_beyond || is_left_out ? Recompute::kNothing : Recompute::kFull;
}

std::int64_t KeptBytes(const BlockActivations& activations, const Plan& plan, Recompute recompute) {
  if (recompute == Recompute::kFull) {
    return activations.input;
  }
  const RecomputedParts& parts = plan.recompute_parts;
  std::int64_t kept = activations.total();
  kept -= recompute == Recompute::kSelective ? activations.core : 0;
  kept -= parts.norms ? activations.norm_results : 0;
  kept -= parts.latent_up ? activations.latent_results : 0;
  if (parts.experts && activations.experts > 0) {
    return kept - activations.experts;
  }
  return kept - (parts.activations ? activations.activation_results : 0);
}

std::int64_t EmbeddingActivationBytes(const ActivationSetting& setting) {
  return setting.model.dropout > 0 ? TokenBytes(setting).Repeated(setting.model.hidden * kMaskBytes)
                                   : 0;
}

HeadActivations HeadActivationsOf(const ActivationSetting& setting, std::int64_t vocabulary) {
  const TokenBytes bytes(setting);
  const bool is_fused = setting.framework.fuses_cross_entropy || setting.framework.is_compiled;
  return {.inputs = bytes.Repeated(setting.model.hidden * 2 * bytes.element()),
          .norm_result = bytes.Repeated(setting.model.hidden * bytes.element()),
          .logits = bytes.Divided(vocabulary * kFp32Bytes),
          .working = is_fused ? 0 : bytes.Divided(vocabulary * (bytes.element() + 2 * kFp32Bytes))};
}

std::int64_t BlockOutputBytes(const ActivationSetting& setting) {
  const TokenBytes bytes(setting);
  return bytes.Repeated(setting.model.hidden * bytes.element());
}

}  // namespace orrery::workload
