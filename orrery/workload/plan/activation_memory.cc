#include "orrery/workload/plan/activation_memory.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "orrery/base/check.h"
#include "orrery/base/data_type.h"
#include "orrery/base/document/yaml_fields.h"
#include "orrery/base/error.h"
#include "orrery/base/math/round_up.h"
#include "orrery/workload/embedded_memory.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/plan/plan.h"
#include "orrery/workload/plan/sharding.h"

namespace orrery::workload {
namespace {

constexpr std::int64_t kFp32Bytes = 4;
constexpr std::int64_t kMaskBytes = 1;

/// Counts bytes of one micro-batch on one rank from elements of one token.
struct TokenBytes {
  explicit TokenBytes(const ActivationSetting& of) : setting(of) {}

  const ActivationSetting& setting;
  std::int64_t tp = setting.plan.tp;
  std::int64_t sequence_parts = setting.plan.sequence_parallel ? tp : 1;
  std::int64_t tokens =
      setting.training.micro_batch *
      DivideUp(std::max<std::int64_t>(setting.training.sequence, 1), setting.plan.cp);
  // Of a rank where tensor parallelism repeats work.
  std::int64_t own_tokens = DivideUp(tokens, sequence_parts);
  // Bytes of an activation, and of the input that a GEMM keeps: narrower where GEMMs are.
  std::int64_t element =
      static_cast<std::int64_t>(ElementBytes(setting.training.precision.compute));
  std::int64_t gemm_input = std::min(
      static_cast<std::int64_t>(std::ceil(ElementBytes(setting.training.precision.gemm_type))),
      element);

  /// Bytes that tensor parallelism repeats on its ranks unless sequence parallelism divides them.
  [[nodiscard]] std::int64_t Repeated(std::int64_t bytes_per_token) const {
    return DivideUp(tokens * bytes_per_token, sequence_parts);
  }

  /// Bytes that tensor parallelism divides.
  [[nodiscard]] std::int64_t Divided(std::int64_t bytes_per_token) const {
    return DivideUp(tokens * bytes_per_token, tp);
  }
};

/// Bytes of a token that the norm before products makes and no other operator keeps: not where all
/// of a cut sequence is kept behind it.
std::int64_t NormResult(const TokenBytes& bytes) {
  const bool keeps_all =
      bytes.setting.framework.keeps_gathered_inputs && bytes.setting.plan.sequence_parallel;
  return keeps_all ? 0 : bytes.Repeated(bytes.setting.model.hidden * bytes.gemm_input);
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
std::int64_t ColumnInputs(const TokenBytes& bytes) {
  const std::int64_t vector = bytes.setting.model.hidden * bytes.gemm_input;
  return bytes.setting.framework.keeps_gathered_inputs ? bytes.tokens * vector
                                                       : bytes.Repeated(vector);
}

void AddAttention(BlockActivations& sum, const Attention& attention, const TokenBytes& bytes) {
  sum.attention += ColumnInputs(bytes);
  sum.norm_results += NormResult(bytes);
  if (attention.latent) {
    const LatentAttention& latent = *attention.latent;
    // Narrow vectors: inputs of their norms and of the GEMMs that follow.
    const std::int64_t ranks = latent.query_rank + latent.key_value_rank;
    sum.attention += bytes.Repeated(ranks * (bytes.element + bytes.gemm_input) +
                                    latent.rope_size * bytes.element);
    sum.norm_results += bytes.Repeated(ranks * bytes.gemm_input);
    sum.latent_results += bytes.Divided(LatentElements(attention) * bytes.element);
  }
  sum.attention +=
      bytes.Divided(QueryKeyValueElements(attention, bytes.setting.plan) * bytes.element);
  sum.attention += bytes.Divided(attention.heads * attention.value_head_size * bytes.gemm_input);
  if (bytes.setting.model.dropout > 0) {
    sum.norms += bytes.Repeated(bytes.setting.model.hidden * kMaskBytes);
  }
}

/// Scores of materialised attention: softmax, and with dropout a mask and the result. Flash
/// attention keeps a sum for each row.
std::int64_t CoreBytes(const Attention& attention, const TokenBytes& bytes) {
  if (bytes.setting.framework.attention != AttentionKernel::kMaterialised) {
    return bytes.Divided(attention.heads * kFp32Bytes);
  }
  const bool has_dropout = bytes.setting.model.attention_dropout > 0;
  const std::int64_t score = bytes.element + (has_dropout ? kMaskBytes + bytes.element : 0);
  return bytes.Divided(attention.heads * bytes.setting.training.sequence * score);
}

/// Bytes that a token keeps between the two products of a feed-forward network.
struct InnerBytes {
  std::int64_t inputs = 0;   // of the activation
  std::int64_t results = 0;  // the input of the second product; unfused, a gate's activation too

  [[nodiscard]] std::int64_t sum() const { return inputs + results; }
};

InnerBytes InnerBytesOf(const FeedForward& mlp, const TokenBytes& bytes) {
  const bool is_fused =
      bytes.setting.framework.fuses_bias_activation || bytes.setting.framework.is_compiled;
  const int narrow = bytes.setting.training.precision.activation_input_bytes;
  const std::int64_t input = narrow > 0 ? narrow : bytes.element;
  const std::int64_t gate = mlp.is_gated && !is_fused ? bytes.element : 0;
  return {.inputs = mlp.width * (mlp.is_gated ? 2 : 1) * input,
          .results = mlp.width * (gate + bytes.gemm_input)};
}

/// Routed tokens of the busiest rank, times what each has.
std::int64_t Routed(const Experts& experts, const TokenBytes& bytes, std::int64_t bytes_per_token) {
  const double tokens = TokensOfExpertRank(experts, bytes.setting.plan, bytes.own_tokens).busiest;
  return static_cast<std::int64_t>(std::llround(tokens * static_cast<double>(bytes_per_token)));
}

/// Dispatched vectors and what the experts keep.
std::int64_t RoutedBytes(const Experts& experts, const TokenBytes& bytes) {
  const std::int64_t vector =
      bytes.setting.model.hidden * bytes.gemm_input * bytes.setting.plan.expert_tp;
  const InnerBytes inner = InnerBytesOf(experts.expert, bytes);
  const bool is_kept_twice =
      bytes.setting.framework.weighs_in_experts && !experts.expert.is_gated;
  const std::int64_t before = is_kept_twice ? inner.results : 0;
  return Routed(experts, bytes, vector + inner.sum() + before);
}

void AddExperts(BlockActivations& sum, const Experts& experts, const TokenBytes& bytes) {
  // Probabilities of all experts, then index and weight of each choice.
  sum.experts += bytes.Repeated(kFp32Bytes * (experts.count + 2 * experts.per_token));
  sum.experts += RoutedBytes(experts, bytes);
  sum.activation_results += Routed(experts, bytes, InnerBytesOf(experts.expert, bytes).results);
  if (experts.shared) {
    const InnerBytes shared = InnerBytesOf(*experts.shared, bytes);
    sum.experts += bytes.Divided(shared.sum());
    sum.activation_results += bytes.Divided(shared.results);
  }
}

void AddMlp(BlockActivations& sum, const Block& block, const TokenBytes& bytes) {
  sum.mlp += ColumnInputs(bytes);
  sum.norm_results += NormResult(bytes);
  if (const Experts* const experts = block.experts()) {
    AddExperts(sum, *experts, bytes);
  } else {
    const InnerBytes inner = InnerBytesOf(*block.feed_forward(), bytes);
    sum.mlp += bytes.Divided(inner.sum());
    sum.mlp_results += bytes.Divided(inner.sum());
    sum.activation_results += bytes.Divided(inner.results);
  }
  if (bytes.setting.model.dropout > 0) {
    sum.norms += bytes.Repeated(bytes.setting.model.hidden * kMaskBytes);
  }
}

/// Shares of `per_token` choices: proportional to `weights`, but at most 1 each. What is above 1 is
/// shared by the others; each round fills one more at least.
std::vector<double> CappedShares(std::vector<double> weights, double per_token) {
  std::vector<double> shares(weights.size());
  double left = per_token;
  double weight = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (std::size_t i = 0; i < weights.size(); ++i) {  // heaviest first
    shares[i] = std::min(1.0, weight > 0 ? left * weights[i] / weight : 0.0);
    left -= shares[i];
    weight -= weights[i];
  }
  return shares;
}

/// Bytes of a logit beside the one in fp32 while the loss is computed: as the GEMM made it, shifted
/// and raised. Megatron shifts and raises in place, but for the compiled maps of its fused loss.
std::int64_t CopiesOfLogits(const TokenBytes& bytes) {
  const Framework& framework = bytes.setting.framework;
  const bool is_fused = framework.fuses_cross_entropy || framework.is_compiled;
  if (framework.loss_in_place) {
    return bytes.element + (is_fused ? kFp32Bytes : 0);
  }
  return is_fused ? 0 : bytes.element + 2 * kFp32Bytes;
}

StateBytes Sum(const StateBytes& left, const StateBytes& right) {
  return {.parameters = left.parameters + right.parameters,
          .gradients = left.gradients + right.gradients,
          .optimizer = left.optimizer + right.optimizer,
          .offloaded = left.offloaded + right.offloaded};
}

MemoryConstants ReadConstants() {
  std::optional<Error> error;
  const YAML::Node node = YAML::Load(kEmbeddedMemory)["memory"];
  YamlFields fields(node, "memory", error);
  MemoryConstants constants;
  constants.context_bytes = std::llround(fields.Positive("context_bytes"));
  constants.communicator_bytes = std::llround(fields.Positive("communicator_bytes"));
  constants.workspace_bytes = std::llround(fields.Positive("workspace_bytes"));
  constants.wide_workspace_bytes = std::llround(fields.Positive("wide_workspace_bytes"));
  constants.fragmentation = fields.Positive("fragmentation");
  constants.host_bytes_per_second = fields.Positive("host_bytes_per_second");
  constants.usable = fields.Positive("usable");
  fields.RefuseOthers();
  ORRERY_CHECK(!error, error ? error->message() : "");
  return constants;
}

}  // namespace

BlockActivations ActivationsOf(const Block& block, const ActivationSetting& setting) {
  const TokenBytes bytes(setting);
  // An unfused RMS norm keeps a copy in fp32 and its result before the scale instead of its input.
  const bool is_unfused = block.norm == NormKind::kRms && !setting.framework.fuses_norm &&
                          !setting.framework.is_compiled;
  const std::int64_t norm =
      bytes.Repeated(setting.model.hidden * (bytes.element + (is_unfused ? kFp32Bytes : 0)));
  BlockActivations sum{.input = BlockOutputBytes(setting)};
  sum.norms = norm - sum.input;
  // Both branches of a parallel block read the block's input.
  sum.norms += block.is_parallel ? 0 : norm;
  AddAttention(sum, block.self, bytes);
  sum.core += CoreBytes(block.self, bytes);
  if (block.cross) {
    sum.norms += norm;
    AddAttention(sum, *block.cross, bytes);
    sum.core += CoreBytes(*block.cross, bytes);
  }
  AddMlp(sum, block, bytes);
  return sum;
}

std::int64_t WorkingBytes(const Block& block, const ActivationSetting& setting) {
  const TokenBytes bytes(setting);
  const Attention& self = block.self;
  const std::int64_t core =
      setting.framework.attention == AttentionKernel::kMaterialised
          ? bytes.Divided(2 * self.heads * setting.training.sequence * bytes.element)
          : 0;
  const std::int64_t attention =
      core + bytes.Divided(QueryKeyValueElements(self, setting.plan) * bytes.element);
  std::int64_t mlp = 0;
  if (const Experts* const experts = block.experts()) {
    mlp = RoutedBytes(*experts, bytes);
  } else {
    mlp = bytes.Divided(InnerBytesOf(*block.feed_forward(), bytes).sum());
  }
  // The gradient of the residual and that of the branch; gathered along the sequence where it is
  // cut.
  const std::int64_t vector = setting.model.hidden * bytes.element;
  const std::int64_t gathered = setting.plan.sequence_parallel ? bytes.tokens * vector : 0;
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
  if (recompute == Recompute::kOperators) {
    // Results of attention and of every second GEMM stay.
    const std::int64_t gemms = activations.attention + activations.mlp + activations.experts -
                               activations.norm_results - activations.activation_results;
    return activations.input + activations.core + gemms / 2;
  }
  const RecomputedParts& parts = plan.recompute_parts;
  std::int64_t kept = activations.total();
  kept -= recompute == Recompute::kSelective ? activations.core : 0;
  kept -= parts.norms ? activations.norm_results : 0;
  kept -= parts.latent_up ? activations.latent_results : 0;
  if (parts.experts && activations.experts > 0) {
    return kept - activations.experts;
  }
  if (parts.mlp && activations.experts == 0) {
    return kept - activations.mlp_results;
  }
  return kept - (parts.activations ? activations.activation_results : 0);
}

std::int64_t EmbeddingActivationBytes(const ActivationSetting& setting) {
  return setting.model.dropout > 0 ? TokenBytes(setting).Repeated(setting.model.hidden * kMaskBytes)
                                   : 0;
}

HeadActivations HeadActivationsOf(const ActivationSetting& setting, std::int64_t vocabulary) {
  const TokenBytes bytes(setting);
  return {.inputs = bytes.Repeated(setting.model.hidden * 2 * bytes.element),
          .norm_result = bytes.Repeated(setting.model.hidden * bytes.element),
          .logits = bytes.Divided(vocabulary * kFp32Bytes),
          .working = bytes.Divided(vocabulary * CopiesOfLogits(bytes))};
}

std::int64_t BlockOutputBytes(const ActivationSetting& setting) {
  const TokenBytes bytes(setting);
  return bytes.Repeated(setting.model.hidden * bytes.element);
}

std::int64_t ExpertCapacity(double factor, std::int64_t tokens, const Experts& experts) {
  const double assignments = static_cast<double>(tokens * experts.per_token);
  return static_cast<std::int64_t>(
      std::ceil(factor * assignments / static_cast<double>(experts.count)));
}

double UniformImbalance(int ranks, std::int64_t assignments) {
  if (ranks <= 1 || assignments <= 0) {
    return 1;
  }
  return 1 + std::sqrt(2 * std::log(ranks) / static_cast<double>(assignments));
}

std::vector<double> ZipfShares(const Experts& experts, double exponent) {
  std::vector<double> weights;
  for (std::int64_t i = 1; i <= experts.count; ++i) {
    weights.push_back(std::pow(static_cast<double>(i), -exponent));
  }
  return CappedShares(std::move(weights), static_cast<double>(experts.per_token));
}

double ZipfImbalance(const Experts& experts, int ranks, double exponent) {
  const auto per_token = static_cast<double>(experts.per_token);
  const std::vector<double> shares = ZipfShares(experts, exponent);
  double busiest = 0;  // the first rank has the heaviest expert of every round
  for (std::size_t i = 0; i < shares.size(); i += static_cast<std::size_t>(ranks)) {
    busiest += shares[i];
  }
  return busiest * ranks / per_token;
}

ExpertTokens TokensOfExpertRank(const Experts& experts, const Plan& plan, std::int64_t tokens) {
  if (plan.capacity_factor > 0) {
    const auto padded =
        static_cast<double>(ExpertCapacity(plan.capacity_factor, tokens, experts) * experts.count);
    return {.mean = padded, .busiest = padded};
  }
  const auto assignments = static_cast<double>(tokens * experts.per_token);
  return {.mean = assignments, .busiest = assignments * std::max(1.0, plan.token_imbalance)};
}

int ParameterBytes(const Training& training) {
  return static_cast<int>(ElementBytes(training.precision.compute));
}

int OptimizerBytes(const Training& training) {
  if (training.optimizer == OptimizerKind::kSkipped) {
    return 0;
  }
  const int master = training.precision.has_master ? 4 : 0;
  const int moments = training.optimizer == OptimizerKind::kAdam ? 2 : 1;
  return master + moments * training.precision.moment_bytes;
}

StateBytes StatesOf(std::int64_t parameters, Sharding sharding, int shards,
                    const Training& training) {
  const std::int64_t shard = DivideUp(parameters, shards);
  const bool shards_parameters = sharding == Sharding::kParameters;
  const bool shards_optimizer = sharding != Sharding::kReplicated;
  return {.parameters = (shards_parameters ? shard : parameters) * ParameterBytes(training),
          .gradients = (sharding >= Sharding::kGradients ? shard : parameters) *
                       training.precision.gradient_bytes,
          .optimizer = (shards_optimizer ? shard : parameters) * OptimizerBytes(training)};
}

StateBytes StatesOf(const RankParameters& parameters, const Plan& plan, const Training& training) {
  // Parameters that stay gathered through a step are whole beside whole gradients, as with ZeRO-1.
  const Sharding held = StaysGathered(plan) ? Sharding::kOptimizer
                        : ShardsParameters(plan) && !ReshardsAfterForward(plan)
                            ? Sharding::kKeepGathered
                            : plan.sharding;
  StateBytes sum = Sum(StatesOf(parameters.dense, held, DenseShards(plan), training),
                       StatesOf(parameters.experts, held, ExpertShards(plan), training));
  if (plan.offload_optimizer) {
    std::swap(sum.optimizer, sum.offloaded);
  }
  return sum;
}

std::int64_t BaseBytes(std::int64_t elements, const Training& training) {
  if (training.base_format == BaseFormat::kSame) {
    return elements * ParameterBytes(training);
  }
  constexpr std::int64_t kScalesOfBlock = 256;
  const std::int64_t scales = DivideUp(elements, kNf4Block);
  return DivideUp(elements, 2) + scales + kFp32Bytes * DivideUp(scales, kScalesOfBlock);
}

std::int64_t HeldFrozenBytes(std::int64_t bytes, const Plan& plan) {
  const bool is_sharded = ShardsParameters(plan) && ReshardsAfterForward(plan);
  return is_sharded ? DivideUp(bytes, DenseShards(plan)) : bytes;
}

std::int64_t OffloadedBytes(std::int64_t kept, const Plan& plan) {
  return std::llround(static_cast<double>(kept) * plan.offload_activations);
}

std::int64_t GatheredBytes(std::int64_t parameters, const Training& training) {
  return parameters * training.precision.gathered_bytes;
}

const MemoryConstants& DefaultMemoryConstants() {
  static const MemoryConstants constants = ReadConstants();
  return constants;
}

}  // namespace orrery::workload
