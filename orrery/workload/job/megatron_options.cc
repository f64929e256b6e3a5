#include "orrery/workload/job/megatron_options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/decimal.h"
#include "orrery/base/nearest_word.h"
#include "orrery/base/number_list.h"
#include "orrery/base/text.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/megatron_arguments.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/model/transformer_shape.h"
#include "orrery/workload/plan/plan.h"
#include "orrery/workload/plan/stage_layers.h"

namespace orrery::workload {
namespace {

constexpr std::int64_t kLargestSize = 1'000'000'000;

bool Take(std::string_view value, std::int64_t& target) {
  const std::optional<std::int64_t> number = ParseInteger(value);
  target = number && *number <= kLargestSize ? *number : 0;
  return number && *number >= 0 && *number <= kLargestSize;
}

// Degrees of parallelism and the like: at least 1.
bool Take(std::string_view value, int& target) {
  std::int64_t size = 0;
  const bool is_size = Take(value, size) && size >= 1 && size <= 1'000'000;
  target = is_size ? static_cast<int>(size) : 1;
  return is_size;
}

bool Take(std::string_view value, double& target) {
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), target);
  return error == std::errc() && end == value.data() + value.size() && target >= 0;
}

bool Take(std::string_view value, std::string& target) {
  target = value;
  return true;
}

template <typename Owner, typename Value>
Value& FieldOf(MegatronState& state, Value Owner::* member) {
  if constexpr (std::is_same_v<Owner, MegatronState>) {
    return state.*member;
  } else if constexpr (std::is_same_v<Owner, MegatronJob>) {
    return state.job.*member;
  } else if constexpr (std::is_same_v<Owner, TransformerShape>) {
    return state.job.shape.*member;
  } else if constexpr (std::is_same_v<Owner, Plan>) {
    return state.job.plan.*member;
  } else if constexpr (std::is_same_v<Owner, Training>) {
    return state.job.training.*member;
  } else if constexpr (std::is_same_v<Owner, Precision>) {
    return state.job.training.precision.*member;
  } else {
    return state.job.framework.*member;
  }
}

// Reads the value of an option into a member.
template <auto kMember>
bool Read(MegatronState& state, std::string_view value) {
  return Take(value, FieldOf(state, kMember));
}

// Sets a member if the option is given.
template <auto kMember, auto kValue = true>
bool Set(MegatronState& state, std::string_view /*value*/) {
  FieldOf(state, kMember) = kValue;
  return true;
}

// Sets a member to the value of a word.
template <auto kMember, const auto& kWords>
bool Choose(MegatronState& state, std::string_view word) {
  const auto found = std::ranges::find(kWords, word, [](const auto& known) { return known.first; });
  if (found != std::end(kWords)) {
    FieldOf(state, kMember) = found->second;
  }
  return found != std::end(kWords);
}

template <typename Value>
using Word = std::pair<std::string_view, Value>;

constexpr std::array<Word<NormKind>, 2> kNorms{
    {{"LayerNorm", NormKind::kLayer}, {"RMSNorm", NormKind::kRms}}};
constexpr std::array<Word<ContextKind>, 4> kContexts{{{"p2p", ContextKind::kRing},
                                                      {"all_gather", ContextKind::kAllGather},
                                                      {"a2a", ContextKind::kUlysses},
                                                      {"a2a+p2p", ContextKind::kUlyssesRing}}};
constexpr std::array<Word<Recompute>, 2> kGranularities{
    {{"full", Recompute::kFull}, {"selective", Recompute::kSelective}}};
constexpr std::array<Word<TokenDispatch>, 4> kDispatchers{
    {{"allgather", TokenDispatch::kAllGather},
     {"alltoall", TokenDispatch::kAllToAll},
     {"alltoall_seq", TokenDispatch::kAllToAll},
     {"flex", TokenDispatch::kFlex}}};
constexpr std::array<Word<AttentionKernel>, 5> kBackends{
    {{"auto", AttentionKernel::kFlash},
     {"flash", AttentionKernel::kFlash},
     {"fused", AttentionKernel::kFlash},
     {"unfused", AttentionKernel::kMaterialised},
     {"local", AttentionKernel::kMaterialised}}};
constexpr std::array<Word<CudaGraphs>, 3> kGraphs{{{"none", CudaGraphs::kOff},
                                                   {"local", CudaGraphs::kLayers},
                                                   {"transformer_engine", CudaGraphs::kLayers}}};
constexpr std::array<Word<int>, 4> kMomentBytes{
    {{"fp32", 4}, {"fp16", 2}, {"bf16", 2}, {"fp8", 1}}};
constexpr std::array<Word<OptimizerKind>, 2> kOptimizers{
    {{"adam", OptimizerKind::kAdam}, {"sgd", OptimizerKind::kSgd}}};

bool TakePositions(MegatronState& state, std::string_view word) {
  state.learned_positions = word == "learned_absolute";
  state.job.shape.rope = word == "rope" || word == "yarn" || word == "mrope";
  return state.learned_positions || state.job.shape.rope || word == "none" || word == "relative";
}

bool DropBiases(MegatronState& state, std::string_view /*value*/) {
  state.job.shape.attention_bias = false;
  state.job.shape.ffn_bias = false;
  return true;
}

bool TakeRecomputeMethod(MegatronState& state, std::string_view word) {
  state.recomputes_in_blocks = word == "block";
  return word == "block" || word == "uniform";
}

// The core of attention is what selective recomputation means without this option; with it, only
// where it is named.
bool TakeRecomputeModules(MegatronState& state, std::string_view words) {
  state.recomputes_attention = false;
  for (std::size_t end = 0; !words.empty(); words.remove_prefix(std::min(end + 1, words.size()))) {
    end = std::min(words.find(' '), words.size());
    const std::string_view word = words.substr(0, end);
    const auto* const known =
        std::ranges::find(kRecomputedPartNames, word, &RecomputedPartName::megatron);
    if (known != kRecomputedPartNames.end()) {
      state.job.plan.recompute_parts.*known->member = true;
    } else if (word == "core_attn") {
      state.recomputes_attention = true;
    } else {
      state.job.not_modelled.push_back(fmt::format("--recompute-modules {}", word));
    }
  }
  return true;
}

bool TakeLayout(MegatronState& state, std::string_view text) {
  auto layers = LayersOfLayout(text);
  if (!layers) {
    return false;
  }
  state.job.plan.layers_per_stage = *std::move(layers);
  return true;
}

// Of parts of a layer, or of everything.
bool TakeGraphScope(MegatronState& state, std::string_view scope) {
  if (scope == "full_iteration") {
    state.job.framework.graphs = CudaGraphs::kStep;
  }
  return true;
}

// "128,0" or "(128, 0)": keys before a query, and after it.
bool TakeWindow(MegatronState& state, std::string_view sizes) {
  const std::vector<std::int64_t> numbers = NumbersIn<std::int64_t>(sizes);
  if (numbers.empty() || numbers.front() > kLargestSize) {
    return false;
  }
  state.job.shape.window = numbers.front();
  return true;
}

// Those of the model, the plan and the batch come first, up to --global-batch-size.
constexpr auto kOptions = std::to_array<MegatronOption>({
    {"num-layers", true, Read<&TransformerShape::layers>},
    {"hidden-size", true, Read<&TransformerShape::hidden>},
    {"ffn-hidden-size", true, Read<&TransformerShape::ffn>},
    {"num-attention-heads", true, Read<&TransformerShape::heads>},
    {"kv-channels", true, Read<&TransformerShape::head_size>},
    {"group-query-attention", false, Set<&MegatronState::grouped_heads>},
    {"num-query-groups", true, Read<&MegatronState::query_groups>},
    {"swiglu", false, Set<&MegatronState::swiglu>},
    {"squared-relu", false, Set<&TransformerShape::activation, Activation::kSquaredRelu>},
    {"normalization", true, Choose<&TransformerShape::norm, kNorms>},
    {"qk-layernorm", false, Set<&TransformerShape::qk_norm>},
    {"disable-bias-linear", false, DropBiases},
    {"add-qkv-bias", false, Set<&TransformerShape::qkv_bias>},
    {"position-embedding-type", true, TakePositions},
    {"use-rotary-position-embeddings", false,
     [](MegatronState& state, std::string_view) { return TakePositions(state, "rope"); }},
    {"window-size", true, TakeWindow, true},
    {"window-attn-skip-freq", true, Read<&MegatronState::window_layers>},
    {"max-position-embeddings", true, Read<&MegatronState::max_positions>},
    {"untie-embeddings-and-output-weights", false, Set<&TransformerShape::tied, false>},
    {"vocab-size", true, Read<&TransformerShape::vocabulary>},
    {"padded-vocab-size", true, Read<&TransformerShape::vocabulary>},
    {"hidden-dropout", true, Read<&TransformerShape::dropout>},
    {"attention-dropout", true, Read<&TransformerShape::attention_dropout>},
    {"mtp-num-layers", true, Read<&TransformerShape::extra_predictions>},
    {"multi-latent-attention", false, Set<&MegatronState::latent_attention>},
    {"q-lora-rank", true, Read<&TransformerShape::query_rank>},
    {"kv-lora-rank", true, Read<&TransformerShape::key_value_rank>},
    {"qk-head-dim", true, Read<&TransformerShape::head_size>},
    {"qk-pos-emb-head-dim", true, Read<&TransformerShape::rope_size>},
    {"v-head-dim", true, Read<&TransformerShape::value_head_size>},
    {"num-experts", true, Read<&TransformerShape::experts>},
    {"moe-router-topk", true, Read<&TransformerShape::experts_per_token>},
    {"moe-ffn-hidden-size", true, Read<&TransformerShape::expert_ffn>},
    {"moe-layer-freq", true, Read<&MegatronState::expert_layers>},
    {"moe-shared-expert-intermediate-size", true, Read<&TransformerShape::shared_ffn>},
    {"moe-shared-expert-gate", false, Set<&TransformerShape::shared_gate>},
    {"tensor-model-parallel-size", true, Read<&Plan::tp>},
    {"sequence-parallel", false, Set<&Plan::sequence_parallel>},
    {"pipeline-model-parallel-size", true, Read<&Plan::pp>},
    {"num-layers-per-virtual-pipeline-stage", true, Read<&MegatronState::layers_of_chunk>},
    {"num-virtual-stages-per-pipeline-rank", true, Read<&Plan::chunks>},
    {"pipeline-model-parallel-layout", true, TakeLayout},
    {"account-for-embedding-in-pipeline-split", false, Set<&Plan::counts_embedding>},
    {"account-for-loss-in-pipeline-split", false, Set<&Plan::counts_loss>},
    {"decoder-first-pipeline-num-layers", true, Read<&MegatronState::first_stage_layers>},
    {"decoder-last-pipeline-num-layers", true, Read<&MegatronState::last_stage_layers>},
    {"context-parallel-size", true, Read<&Plan::cp>},
    {"cp-comm-type", true, Choose<&Plan::context, kContexts>},
    // "2 4": heads are sharded over 2 neighbours, rings of 4 go across.
    {"hierarchical-context-parallel-sizes", true,
     [](MegatronState& state, std::string_view sizes) {
       return Take(sizes.substr(0, sizes.find(' ')), state.job.plan.ulysses_ranks);
     },
     true},
    {"expert-model-parallel-size", true, Read<&Plan::ep>},
    {"expert-tensor-parallel-size", true, Read<&Plan::expert_tp>},
    {"use-tp-pp-dp-mapping", false, Set<&Plan::pipeline_is_innermost>},
    {"recompute-granularity", true, Choose<&Plan::recompute, kGranularities>},
    {"recompute-activations", false, Set<&Plan::recompute, Recompute::kSelective>},
    {"recompute-method", true, TakeRecomputeMethod},
    {"recompute-num-layers", true, Read<&MegatronState::recompute_layers>},
    {"recompute-modules", true, TakeRecomputeModules, true},
    {"use-distributed-optimizer", false, Set<&Plan::sharding, Sharding::kOptimizer>},
    {"use-megatron-fsdp", false, Set<&MegatronState::shards_with_fsdp>},
    {"use-custom-fsdp", false, Set<&MegatronState::shards_with_fsdp>},
    {"use-torch-fsdp2", false, Set<&Plan::sharding, Sharding::kParameters>},
    {"torch-fsdp2-no-reshard-after-forward", false, Set<&MegatronState::keeps_gathered>},
    {"data-parallel-sharding-strategy", true, Read<&MegatronState::sharding>},
    {"num-distributed-optimizer-instances", true, Read<&MegatronJob::optimizer_instances>},
    {"optimizer-cpu-offload", false, Set<&Plan::offload_optimizer>},
    {"moe-token-dispatcher-type", true, Choose<&Plan::dispatch, kDispatchers>},
    {"moe-expert-capacity-factor", true, Read<&Plan::capacity_factor>},
    {"nnodes", true, Read<&MegatronState::nodes>},
    {"nproc-per-node", true, Read<&MegatronState::gpus_of_node>},
    {"seq-length", true, Read<&Training::sequence>},
    {"micro-batch-size", true, Read<&Training::micro_batch>},
    {"global-batch-size", true,
     [](MegatronState& state, std::string_view value) {
       state.job.has_global_batch = true;
       return Take(value, state.job.training.global_batch);
     }},
    {"optimizer", true, Choose<&Training::optimizer, kOptimizers>},
    {"exp-avg-dtype", true, Choose<&MegatronState::first_moment_bytes, kMomentBytes>},
    {"exp-avg-sq-dtype", true, Choose<&MegatronState::second_moment_bytes, kMomentBytes>},
    {"bf16", false, Set<&MegatronState::is_bf16>},
    {"fp16", false, Set<&MegatronState::is_fp16>},
    {"fp8-format", true, Set<&MegatronState::is_fp8>},
    {"fp8-hybrid", false, Set<&MegatronState::is_fp8>},
    {"fp8-recipe", true,
     [](MegatronState& state, std::string_view recipe) {
       state.has_block_scales = recipe == "blockwise";
       return true;
     }},
    {"fp4-format", true, Set<&MegatronState::is_fp4>},
    {"activation-func-fp8-input-store", false, Set<&Precision::activation_input_bytes, 1>},
    {"fp8-param-gather", false, Set<&Precision::gathered_bytes, 1>},
    {"accumulate-allreduce-grads-in-fp32", false, Set<&MegatronState::gradients_in_fp32>},
    {"grad-reduce-in-bf16", false, Set<&MegatronState::gradients_in_bf16>},
    {"overlap-grad-reduce", false, Set<&Framework::data_overlap, DataOverlap::kBuckets>},
    {"overlap-param-gather", false, Set<&Framework::gathers_in_forward>},
    {"tp-comm-overlap", false, Set<&Framework::tensor_overlap, TensorOverlap::kPipelined>},
    {"no-overlap-p2p-communication", false, Set<&Framework::overlaps_pipeline_sends, false>},
    {"overlap-moe-expert-parallel-comm", false, Set<&Framework::overlaps_experts>},
    {"ddp-bucket-size", true,
     [](MegatronState& state, std::string_view value) {
       state.job.framework.scales_bucket_with_ranks = false;
       return Take(value, state.job.framework.least_bucket_elements);
     }},
    {"make-vocab-size-divisible-by", true, Read<&Framework::vocabulary_multiple>},
    {"attention-backend", true, Choose<&Framework::attention, kBackends>},
    {"use-flash-attn", false, Set<&Framework::attention, AttentionKernel::kFlash>},
    {"cross-entropy-loss-fusion", false, Set<&Framework::fuses_cross_entropy>},
    {"no-gradient-accumulation-fusion", false, Set<&Framework::fuses_gradient_accumulation, false>},
    {"no-bias-gelu-fusion", false, Set<&Framework::fuses_bias_activation, false>},
    {"no-bias-swiglu-fusion", false, Set<&Framework::fuses_bias_activation, false>},
    {"no-bias-dropout-fusion", false, Set<&Framework::fuses_dropout_add, false>},
    {"no-rope-fusion", false, Set<&Framework::fuses_rope, false>},
    {"data-path", true, nullptr, true},
    {"enable-cuda-graph", false, Set<&Framework::graphs, CudaGraphs::kLayers>},
    {"external-cuda-graph", false, Set<&Framework::graphs, CudaGraphs::kLayers>},
    {"cuda-graph-impl", true, Choose<&Framework::graphs, kGraphs>},
    {"cuda-graph-scope", true, TakeGraphScope},
    {"moe-permute-fusion", false, Set<&Framework::fuses_permute>},
});

// Options without effect on the time of a step, or with only one modelled choice; each name is
// between blanks.
constexpr std::string_view kIgnoredFlags =
    " "
    "apply-layernorm-1p attention-softmax-in-fp32 calculate-per-token-loss "
    "init-model-with-meta-device log-throughput "
    "manual-gc "
    "mock-data "
    "moe-grouped-gemm moe-router-enable-expert-bias moe-router-pre-softmax no-load-optim "
    "no-check-for-nan-in-loss-and-grad no-create-attention-mask-in-dataloader no-load-rng "
    "no-masked-softmax-fusion "
    "no-mmap-bin-files no-query-key-layer-scaling profile "
    "no-position-embedding no-save-optim use-mcore-models use-precision-aware-optimizer ";

constexpr std::string_view kIgnoredValues =
    " "
    "adam-beta1 adam-beta2 adam-eps ckpt-format clip-grad data-cache-path data-impl "
    "dataloader-type "
    "decoupled-lr decoupled-min-lr "
    "distributed-backend distributed-timeout-minutes eval-interval eval-iters "
    "exit-duration-in-mins exit-interval fp4-recipe fp8-amax-compute-algo fp8-amax-history-len "
    "fp8-margin init-method-std initial-loss-scale load log-interval lr "
    "lr-decay-iters lr-decay-samples lr-decay-style lr-warmup-fraction lr-warmup-iters "
    "lr-warmup-samples master-addr master-port merge-file min-lr moe-aux-loss-coeff "
    "moe-flex-dispatcher-backend moe-router-bias-update-rate moe-router-dtype "
    "moe-router-group-topk "
    "moe-router-load-balancing-type moe-router-num-groups moe-router-score-function "
    "moe-router-topk-scaling-factor moe-z-loss-coeff node-rank norm-epsilon num-workers "
    "rotary-base "
    "profile-step-end profile-step-start rotary-percent save save-interval seed split "
    "tensorboard-dir tiktoken-pattern tokenizer-model "
    "tokenizer-type train-iters train-samples transformer-impl vocab-file wandb-exp-name "
    "wandb-project weight-decay ";

constexpr std::string_view kLastDecisive = "global-batch-size";

std::string Dashed(std::string_view name) {
  std::string dashed(name);
  std::ranges::replace(dashed, '_', '-');
  return dashed;
}

std::set<std::string_view> WordsOf(std::string_view name) {
  std::set<std::string_view> words;
  for (std::size_t end = 0; !name.empty(); name.remove_prefix(std::min(end + 1, name.size()))) {
    end = std::min(name.find('-'), name.size());
    words.insert(name.substr(0, end));
  }
  return words;
}

// All words of one are words of the other, or three of four are.
bool HaveSameWords(std::string_view one, std::string_view other) {
  const std::set<std::string_view> words = WordsOf(one);
  const std::set<std::string_view> others = WordsOf(other);
  const auto common = static_cast<std::size_t>(
      std::ranges::count_if(words, [&](std::string_view word) { return others.contains(word); }));
  return common >= 2 && (common == std::min(words.size(), others.size()) ||
                         4 * common >= 3 * std::max(words.size(), others.size()));
}

}  // namespace

std::string_view DecisiveOptionLike(std::string_view name) {
  const std::string dashed = Dashed(name);
  std::vector<std::string_view> like;
  for (const MegatronOption& option : kOptions) {
    const std::size_t few = option.name.size() < 6 ? 1 : 2 + option.name.size() / 10;
    if (EditDistance(dashed, option.name) <= few || HaveSameWords(dashed, option.name)) {
      like.push_back(option.name);
    }
    if (option.name == kLastDecisive) {
      break;
    }
  }
  return NearestWord(dashed, like);
}

std::optional<MegatronOption> FindMegatronOption(std::string_view name) {
  const std::string dashed = Dashed(name);
  const auto found = std::ranges::find(kOptions, dashed, &MegatronOption::name);
  if (found != kOptions.end()) {
    return *found;
  }
  const std::string word = " " + dashed + " ";
  if (Contains(kIgnoredFlags, word) || Contains(kIgnoredValues, word)) {
    return MegatronOption{.name = name, .has_value = Contains(kIgnoredValues, word)};
  }
  return std::nullopt;
}

}  // namespace orrery::workload
