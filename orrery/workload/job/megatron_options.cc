#include "orrery/workload/job/megatron_options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/decimal.h"

namespace orrery::workload {
namespace {

constexpr std::int64_t kLargestSize = 1'000'000'000;

bool TakeSize(std::string_view value, std::int64_t& target) {
  const std::optional<std::int64_t> number = ParseInteger(value);
  target = number && *number <= kLargestSize ? *number : 0;
  return number && *number >= 0 && *number <= kLargestSize;
}

bool TakeDegree(std::string_view value, int& target) {
  std::int64_t size = 0;
  const bool is_size = TakeSize(value, size) && size >= 1 && size <= 1'000'000;
  target = is_size ? static_cast<int>(size) : 1;
  return is_size;
}

bool TakeNumber(std::string_view value, double& target) {
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), target);
  return error == std::errc() && end == value.data() + value.size() && target >= 0;
}

template <auto kMember>
bool SizeOfShape(MegatronState& state, std::string_view value) {
  return TakeSize(value, state.job.shape.*kMember);
}

template <auto kMember>
bool SizeOfState(MegatronState& state, std::string_view value) {
  return TakeSize(value, state.*kMember);
}

template <auto kMember>
bool SizeOfTraining(MegatronState& state, std::string_view value) {
  return TakeSize(value, state.job.training.*kMember);
}

template <auto kMember>
bool DegreeOfPlan(MegatronState& state, std::string_view value) {
  return TakeDegree(value, state.job.plan.*kMember);
}

template <auto kMember>
bool NumberOfShape(MegatronState& state, std::string_view value) {
  return TakeNumber(value, state.job.shape.*kMember);
}

template <auto kMember>
bool FlagOfState(MegatronState& state, std::string_view /*value*/) {
  return state.*kMember = true;
}

template <auto kMember>
bool FlagOfShape(MegatronState& state, std::string_view /*value*/) {
  return state.job.shape.*kMember = true;
}

template <auto kMember>
bool FlagOfPlan(MegatronState& state, std::string_view /*value*/) {
  return state.job.plan.*kMember = true;
}

template <auto kMember, bool kValue>
bool FlagOfFramework(MegatronState& state, std::string_view /*value*/) {
  state.job.framework.*kMember = kValue;
  return true;
}

template <typename Value, std::size_t kCount>
bool TakeWord(std::string_view word,
              const std::array<std::pair<std::string_view, Value>, kCount>& words, Value& target) {
  for (const auto& [spelling, value] : words) {
    if (spelling == word) {
      target = value;
      return true;
    }
  }
  return false;
}

bool TakeNormalization(MegatronState& state, std::string_view word) {
  constexpr std::array<std::pair<std::string_view, NormKind>, 2> kWords{
      {{"LayerNorm", NormKind::kLayer}, {"RMSNorm", NormKind::kRms}}};
  return TakeWord(word, kWords, state.job.shape.norm);
}

bool TakePositions(MegatronState& state, std::string_view word) {
  state.learned_positions = word == "learned_absolute";
  state.job.shape.rope = word == "rope" || word == "yarn" || word == "mrope";
  return state.learned_positions || state.job.shape.rope || word == "none" || word == "relative";
}

bool UseRope(MegatronState& state, std::string_view /*value*/) {
  return TakePositions(state, "rope");
}

bool DropBiases(MegatronState& state, std::string_view /*value*/) {
  state.job.shape.attention_bias = false;
  state.job.shape.ffn_bias = false;
  return true;
}

bool UseSquaredRelu(MegatronState& state, std::string_view /*value*/) {
  state.job.shape.activation = Activation::kSquaredRelu;
  return true;
}

bool UntieHead(MegatronState& state, std::string_view /*value*/) {
  state.job.shape.tied = false;
  return true;
}

bool TakeContextKind(MegatronState& state, std::string_view word) {
  constexpr std::array<std::pair<std::string_view, ContextKind>, 4> kWords{
      {{"p2p", ContextKind::kRing},
       {"all_gather", ContextKind::kAllGather},
       {"a2a", ContextKind::kUlysses},
       {"a2a+p2p", ContextKind::kUlyssesRing}}};
  return TakeWord(word, kWords, state.job.plan.context);
}

// "2 4": two neighbours deal heads, rings of four go across.
bool TakeContextSizes(MegatronState& state, std::string_view sizes) {
  return TakeDegree(sizes.substr(0, sizes.find(' ')), state.job.plan.ulysses_ranks);
}

bool TakeGranularity(MegatronState& state, std::string_view word) {
  constexpr std::array<std::pair<std::string_view, Recompute>, 2> kWords{
      {{"full", Recompute::kFull}, {"selective", Recompute::kSelective}}};
  return TakeWord(word, kWords, state.job.plan.recompute);
}

bool RecomputeSelectively(MegatronState& state, std::string_view /*value*/) {
  return TakeGranularity(state, "selective");
}

bool TakeRecomputeMethod(MegatronState& state, std::string_view word) {
  state.recomputes_in_blocks = word == "block";
  return word == "block" || word == "uniform";
}

// The core of attention is what selective recomputation means without this option.
void TakeRecomputeModule(MegatronState& state, std::string_view word) {
  const auto* const known =
      std::ranges::find(kRecomputedPartNames, word, &RecomputedPartName::megatron);
  if (known != kRecomputedPartNames.end()) {
    state.job.plan.recompute_parts.*known->member = true;
  } else if (word != "core_attn") {
    state.job.not_modelled.push_back(fmt::format("--recompute-modules {}", word));
  }
}

bool TakeRecomputeModules(MegatronState& state, std::string_view words) {
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    TakeRecomputeModule(state, words.substr(0, end));
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return true;
}

bool TakeDispatcher(MegatronState& state, std::string_view word) {
  constexpr std::array<std::pair<std::string_view, TokenDispatch>, 4> kWords{
      {{"allgather", TokenDispatch::kAllGather},
       {"alltoall", TokenDispatch::kAllToAll},
       {"alltoall_seq", TokenDispatch::kAllToAll},
       {"flex", TokenDispatch::kFlex}}};
  return TakeWord(word, kWords, state.job.plan.dispatch);
}

bool TakeCapacity(MegatronState& state, std::string_view value) {
  return TakeNumber(value, state.job.plan.capacity_factor);
}

bool TakeExpertLayers(MegatronState& state, std::string_view value) {
  state.expert_layers = value;
  return true;
}

bool ShardOptimizer(MegatronState& state, std::string_view /*value*/) {
  state.job.plan.sharding = Sharding::kOptimizer;
  return true;
}

bool ShardAll(MegatronState& state, std::string_view /*value*/) {
  state.job.plan.sharding = Sharding::kParameters;
  return true;
}

bool TakeStrategy(MegatronState& state, std::string_view word) {
  state.sharding = word;
  return true;
}

bool TakeOptimizerInstances(MegatronState& state, std::string_view value) {
  return TakeDegree(value, state.job.optimizer_instances);
}

bool TakeGlobalBatch(MegatronState& state, std::string_view value) {
  state.job.has_global_batch = true;
  return TakeSize(value, state.job.training.global_batch);
}

bool TakeFp8(MegatronState& state, std::string_view /*value*/) {
  return state.is_fp8 = true;
}

bool GatherFp8(MegatronState& state, std::string_view /*value*/) {
  state.job.training.precision.gathered_bytes = 1;
  return true;
}

bool TakeOptimizer(MegatronState& state, std::string_view word) {
  constexpr std::array<std::pair<std::string_view, OptimizerKind>, 2> kWords{
      {{"adam", OptimizerKind::kAdam}, {"sgd", OptimizerKind::kSgd}}};
  return TakeWord(word, kWords, state.job.training.optimizer);
}

bool OverlapGradients(MegatronState& state, std::string_view /*value*/) {
  state.job.framework.data_overlap = DataOverlap::kBuckets;
  return true;
}

bool OverlapTensors(MegatronState& state, std::string_view /*value*/) {
  state.job.framework.tensor_overlap = TensorOverlap::kPipelined;
  return true;
}

bool UseFlashAttention(MegatronState& state, std::string_view /*value*/) {
  state.job.framework.attention = AttentionKernel::kFlash;
  return true;
}

bool TakeBucketSize(MegatronState& state, std::string_view value) {
  state.job.framework.scales_bucket_with_ranks = false;
  return TakeSize(value, state.job.framework.least_bucket_elements);
}

bool TakeVocabularyMultiple(MegatronState& state, std::string_view value) {
  return TakeDegree(value, state.job.framework.vocabulary_multiple);
}

constexpr auto kShapeOptions = std::to_array<MegatronOption>({
    {"num-layers", true, SizeOfShape<&TransformerShape::layers>},
    {"hidden-size", true, SizeOfShape<&TransformerShape::hidden>},
    {"ffn-hidden-size", true, SizeOfShape<&TransformerShape::ffn>},
    {"num-attention-heads", true, SizeOfShape<&TransformerShape::heads>},
    {"kv-channels", true, SizeOfShape<&TransformerShape::head_size>},
    {"group-query-attention", false, FlagOfState<&MegatronState::grouped_heads>},
    {"num-query-groups", true, SizeOfState<&MegatronState::query_groups>},
    {"swiglu", false, FlagOfState<&MegatronState::swiglu>},
    {"squared-relu", false, UseSquaredRelu},
    {"normalization", true, TakeNormalization},
    {"qk-layernorm", false, FlagOfShape<&TransformerShape::qk_norm>},
    {"disable-bias-linear", false, DropBiases},
    {"add-qkv-bias", false, FlagOfShape<&TransformerShape::qkv_bias>},
    {"position-embedding-type", true, TakePositions},
    {"use-rotary-position-embeddings", false, UseRope},
    {"max-position-embeddings", true, SizeOfState<&MegatronState::max_positions>},
    {"untie-embeddings-and-output-weights", false, UntieHead},
    {"vocab-size", true, SizeOfShape<&TransformerShape::vocabulary>},
    {"padded-vocab-size", true, SizeOfShape<&TransformerShape::vocabulary>},
    {"hidden-dropout", true, NumberOfShape<&TransformerShape::dropout>},
    {"attention-dropout", true, NumberOfShape<&TransformerShape::attention_dropout>},
    {"mtp-num-layers", true, SizeOfShape<&TransformerShape::extra_predictions>},
    {"multi-latent-attention", false, FlagOfState<&MegatronState::latent_attention>},
    {"q-lora-rank", true, SizeOfShape<&TransformerShape::query_rank>},
    {"kv-lora-rank", true, SizeOfShape<&TransformerShape::key_value_rank>},
    {"qk-head-dim", true, SizeOfShape<&TransformerShape::head_size>},
    {"qk-pos-emb-head-dim", true, SizeOfShape<&TransformerShape::rope_size>},
    {"v-head-dim", true, SizeOfShape<&TransformerShape::value_head_size>},
    {"num-experts", true, SizeOfShape<&TransformerShape::experts>},
    {"moe-router-topk", true, SizeOfShape<&TransformerShape::experts_per_token>},
    {"moe-ffn-hidden-size", true, SizeOfShape<&TransformerShape::expert_ffn>},
    {"moe-layer-freq", true, TakeExpertLayers},
    {"moe-shared-expert-intermediate-size", true, SizeOfShape<&TransformerShape::shared_ffn>},
});

constexpr auto kPlanOptions = std::to_array<MegatronOption>({
    {"tensor-model-parallel-size", true, DegreeOfPlan<&Plan::tp>},
    {"sequence-parallel", false, FlagOfPlan<&Plan::sequence_parallel>},
    {"pipeline-model-parallel-size", true, DegreeOfPlan<&Plan::pp>},
    {"num-layers-per-virtual-pipeline-stage", true, SizeOfState<&MegatronState::layers_of_chunk>},
    {"num-virtual-stages-per-pipeline-rank", true, DegreeOfPlan<&Plan::chunks>},
    {"decoder-first-pipeline-num-layers", true, SizeOfState<&MegatronState::first_stage_layers>},
    {"decoder-last-pipeline-num-layers", true, SizeOfState<&MegatronState::last_stage_layers>},
    {"context-parallel-size", true, DegreeOfPlan<&Plan::cp>},
    {"cp-comm-type", true, TakeContextKind},
    {"hierarchical-context-parallel-sizes", true, TakeContextSizes, true},
    {"expert-model-parallel-size", true, DegreeOfPlan<&Plan::ep>},
    {"expert-tensor-parallel-size", true, DegreeOfPlan<&Plan::expert_tp>},
    {"use-tp-pp-dp-mapping", false, FlagOfPlan<&Plan::pipeline_is_innermost>},
    {"recompute-granularity", true, TakeGranularity},
    {"recompute-activations", false, RecomputeSelectively},
    {"recompute-method", true, TakeRecomputeMethod},
    {"recompute-num-layers", true, SizeOfState<&MegatronState::recompute_layers>},
    {"recompute-modules", true, TakeRecomputeModules, true},
    {"use-distributed-optimizer", false, ShardOptimizer},
    {"use-megatron-fsdp", false, FlagOfState<&MegatronState::shards_with_fsdp>},
    {"use-custom-fsdp", false, FlagOfState<&MegatronState::shards_with_fsdp>},
    {"use-torch-fsdp2", false, ShardAll},
    {"data-parallel-sharding-strategy", true, TakeStrategy},
    {"num-distributed-optimizer-instances", true, TakeOptimizerInstances},
    {"optimizer-cpu-offload", false, FlagOfPlan<&Plan::offload_optimizer>},
    {"moe-token-dispatcher-type", true, TakeDispatcher},
    {"moe-expert-capacity-factor", true, TakeCapacity},
    {"nnodes", true, SizeOfState<&MegatronState::nodes>},
    {"nproc-per-node", true, SizeOfState<&MegatronState::gpus_of_node>},
});

constexpr auto kTrainingOptions = std::to_array<MegatronOption>({
    {"seq-length", true, SizeOfTraining<&Training::sequence>},
    {"micro-batch-size", true, SizeOfTraining<&Training::micro_batch>},
    {"global-batch-size", true, TakeGlobalBatch},
    {"optimizer", true, TakeOptimizer},
    {"bf16", false, FlagOfState<&MegatronState::is_bf16>},
    {"fp16", false, FlagOfState<&MegatronState::is_fp16>},
    {"fp8-format", true, TakeFp8},
    {"fp8-hybrid", false, TakeFp8},
    {"fp8-param-gather", false, GatherFp8},
    {"accumulate-allreduce-grads-in-fp32", false, FlagOfState<&MegatronState::gradients_in_fp32>},
    {"grad-reduce-in-bf16", false, FlagOfState<&MegatronState::gradients_in_bf16>},
});

constexpr auto kFrameworkOptions = std::to_array<MegatronOption>({
    {"overlap-grad-reduce", false, OverlapGradients},
    {"overlap-param-gather", false, FlagOfFramework<&Framework::gathers_in_forward, true>},
    {"tp-comm-overlap", false, OverlapTensors},
    {"no-overlap-p2p-communication", false,
     FlagOfFramework<&Framework::overlaps_pipeline_sends, false>},
    {"overlap-moe-expert-parallel-comm", false,
     FlagOfFramework<&Framework::overlaps_experts, true>},
    {"ddp-bucket-size", true, TakeBucketSize},
    {"make-vocab-size-divisible-by", true, TakeVocabularyMultiple},
    {"use-flash-attn", false, UseFlashAttention},
    {"cross-entropy-loss-fusion", false, FlagOfFramework<&Framework::fuses_cross_entropy, true>},
    {"no-gradient-accumulation-fusion", false,
     FlagOfFramework<&Framework::fuses_gradient_accumulation, false>},
    {"no-bias-gelu-fusion", false, FlagOfFramework<&Framework::fuses_bias_activation, false>},
    {"no-bias-swiglu-fusion", false, FlagOfFramework<&Framework::fuses_bias_activation, false>},
    {"no-bias-dropout-fusion", false, FlagOfFramework<&Framework::fuses_dropout_add, false>},
    {"no-rope-fusion", false, FlagOfFramework<&Framework::fuses_rope, false>},
    {"enable-cuda-graph", false, FlagOfFramework<&Framework::uses_graphs, true>},
});

const MegatronOption* FindIn(std::span<const MegatronOption> options, std::string_view name) {
  const auto found = std::ranges::find(options, name, &MegatronOption::name);
  return found == options.end() ? nullptr : &*found;
}

}  // namespace

const MegatronOption* FindMegatronOption(std::string_view name) {
  std::string dashed(name);
  std::ranges::replace(dashed, '_', '-');
  for (const std::span<const MegatronOption> options :
       {std::span<const MegatronOption>(kShapeOptions),
        std::span<const MegatronOption>(kPlanOptions),
        std::span<const MegatronOption>(kTrainingOptions),
        std::span<const MegatronOption>(kFrameworkOptions), IgnoredMegatronOptions()}) {
    if (const MegatronOption* const found = FindIn(options, dashed)) {
      return found;
    }
  }
  return nullptr;
}

}  // namespace orrery::workload
