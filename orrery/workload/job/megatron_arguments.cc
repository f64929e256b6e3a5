#include "orrery/workload/job/megatron_arguments.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/data_type.h"
#include "orrery/base/error.h"
#include "orrery/base/text/decimal.h"
#include "orrery/workload/input.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/megatron_options.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::workload {
namespace {

class WordReader {
 public:
  explicit WordReader(std::string_view text) : text_(text) {}

  Result<std::vector<std::string>> Read() && {
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '"' || c == '\'') {
        const std::size_t end = text_.find(c, at_);
        if (end == std::string_view::npos) {
          return Refuse("the quote {} is not closed", text_.substr(at_ - 1, 20));
        }
        Take(text_.substr(at_, end - at_));
        at_ = end + 1;
      } else if (c == '#' && !in_word_) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (c == '\\') {
        TakeNext();
      } else if (std::string_view(" \t\n\r").find(c) != std::string_view::npos) {
        EndWord();
      } else {
        Take({&c, 1});
      }
    }
    EndWord();
    return std::move(words_);
  }

 private:
  void Take(std::string_view characters) {
    word_ += characters;
    in_word_ = true;
  }

  // A line that ends in a backslash goes on in the next.
  void TakeNext() {
    if (at_ < text_.size() && text_[at_] == '\r') {
      ++at_;
    }
    if (at_ < text_.size() && text_[at_] != '\n') {
      Take(text_.substr(at_, 1));
    }
    ++at_;
  }

  void EndWord() {
    if (in_word_) {
      words_.push_back(std::exchange(word_, {}));
    }
    in_word_ = false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string word_;
  bool in_word_ = false;
  std::vector<std::string> words_;
};

constexpr std::int64_t kGpt2Vocabulary = 50257;

// Megatron's defaults, where they are not those of the structs.
MegatronState Defaults(const Framework& framework) {
  MegatronState state;
  state.job.framework = framework;
  state.job.framework.data_overlap = DataOverlap::kAfterBackward;
  state.job.framework.gathers_in_forward = false;
  state.job.framework.overlaps_experts = false;
  state.job.shape = {.attention_bias = true,
                     .ffn_bias = true,
                     .tied = true,
                     .dropout = 0.1,
                     .attention_dropout = 0.1,
                     .experts_per_token = 2};
  state.job.plan.dispatch = TokenDispatch::kAllGather;
  state.job.plan.expert_tp = 0;  // that of the rest
  return state;
}

// The words from `at` on that are the value of an option.
std::string TakeValue(const std::vector<std::string>& words, std::size_t& at, bool is_list) {
  std::string value;
  while (at < words.size() && !words[at].starts_with("--") && (is_list || value.empty())) {
    value += (value.empty() ? "" : " ") + words[at++];
  }
  return value;
}

// Words without an option, such as the name of the script, are skipped.
Status ReadOptions(const std::vector<std::string>& words, MegatronState& state) {
  for (std::size_t at = 0; at < words.size();) {
    const std::string_view word = words[at++];
    if (!word.starts_with("--")) {
      continue;
    }
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::optional<MegatronOption> option = FindMegatronOption(word.substr(2, equals - 2));
    if (!option) {
      if (const std::string_view like = DecisiveOptionLike(word.substr(2, equals - 2));
          !like.empty()) {
        return Refuse(
            "{} is unknown and looks like --{}, which decides the job: correct or remove it",
            word.substr(0, equals), like);
      }
      state.job.unknown.emplace_back(word.substr(0, equals));
      continue;
    }
    std::string value(equals < word.size() ? word.substr(equals + 1) : "");
    if (option->has_value && value.empty()) {
      value = TakeValue(words, at, option->is_list);
    }
    if (option->has_value && value.empty()) {
      return Refuse("{} needs a value", word);
    }
    if (option->take != nullptr && !option->take(state, value)) {
      return Refuse("{} cannot be '{}'", word.substr(0, equals), value);
    }
  }
  return {};
}

void FinishWidth(MegatronState& state) {
  TransformerShape& shape = state.job.shape;
  if (state.swiglu) {
    shape.activation = Activation::kSilu;
    shape.gated = true;
    shape.ffn = shape.ffn == 0 ? shape.hidden * 8 / 3 / 64 * 64 : shape.ffn;
  }
}

void FinishHeads(MegatronState& state) {
  TransformerShape& shape = state.job.shape;
  shape.kv_heads = state.grouped_heads ? state.query_groups : 0;
  if (!state.latent_attention) {
    shape.query_rank = 0;
    shape.key_value_rank = 0;
    shape.rope_size = 0;
    shape.value_head_size = 0;
    return;
  }
  const auto usually = [](std::int64_t& size, std::int64_t usual) {
    size = size == 0 ? usual : size;
  };
  usually(shape.key_value_rank, 32);
  usually(shape.head_size, 128);
  usually(shape.rope_size, 64);
  usually(shape.value_head_size, 128);
}

// A number: Megatron counts layers from 1, each n-th sees the whole sequence. Or a list of those
// with windows, written as those with experts are.
Status FinishWindows(MegatronState& state) {
  TransformerShape& shape = state.job.shape;
  if (state.window_layers.empty()) {
    return {};
  }
  if (const std::optional<std::int64_t> every = ParseInteger(state.window_layers);
      every && *every > 0) {
    for (std::int64_t layer = 1; layer <= shape.layers; ++layer) {
      shape.window_layers.push_back(layer % *every != 0);
    }
    return {};
  }
  const auto pattern = ExpertPattern(state.window_layers, shape.layers);
  if (!pattern || pattern->empty()) {
    return Refuse("--window-attn-skip-freq cannot be '{}' for {} layers", state.window_layers,
                  shape.layers);
  }
  shape.window_layers = *pattern;
  return {};
}

void FinishEnds(MegatronState& state) {
  TransformerShape& shape = state.job.shape;
  if (shape.vocabulary == 0) {
    shape.vocabulary = kGpt2Vocabulary;
    state.job.not_modelled.push_back(
        fmt::format("no --vocab-size: that of GPT-2 is taken, {}", kGpt2Vocabulary));
  }
  if (state.learned_positions && !shape.rope) {
    shape.positions = std::max(state.max_positions, state.job.training.sequence);
  }
}

Status FinishExperts(MegatronState& state) {
  TransformerShape& shape = state.job.shape;
  Plan& plan = state.job.plan;
  plan.expert_tp = plan.expert_tp == 0 ? plan.tp : plan.expert_tp;
  if (shape.experts == 0) {
    shape.experts_per_token = 0;
    shape.shared_ffn = 0;
    plan.expert_tp = 1;
    plan.dispatch = TokenDispatch::kAllToAll;  // of no effect
    return {};
  }
  const auto pattern = ExpertPattern(state.expert_layers, shape.layers);
  if (!pattern) {
    return Refuse("--moe-layer-freq cannot be '{}' for {} layers", state.expert_layers,
                  shape.layers);
  }
  shape.moe_layers = *pattern;
  return {};
}

Status FinishChunks(MegatronState& state) {
  Plan& plan = state.job.plan;
  if (state.layers_of_chunk > 0) {
    const std::int64_t layers_of_round = plan.pp * state.layers_of_chunk;
    if (state.job.shape.layers % layers_of_round != 0) {
      return Refuse(
          "--num-layers {} does not divide by --pipeline-model-parallel-size · "
          "--num-layers-per-virtual-pipeline-stage = {}",
          state.job.shape.layers, layers_of_round);
    }
    plan.chunks = static_cast<int>(state.job.shape.layers / layers_of_round);
  } else if (plan.chunks == 1 && !plan.layers_per_stage.empty()) {  // a layout has all of them
    plan.chunks = std::max(1, static_cast<int>(plan.layers_per_stage.size()) / plan.pp);
  }
  plan.schedule = plan.chunks > 1 ? PipelineSchedule::kInterleaved : PipelineSchedule::k1f1b;
  return {};
}

// The given ends, and the rest evenly between them.
Status FinishStages(MegatronState& state) {
  Plan& plan = state.job.plan;
  const std::int64_t first = state.first_stage_layers;
  const std::int64_t last = state.last_stage_layers;
  if (first == 0 && last == 0) {
    return {};
  }
  const std::int64_t stages = plan.pp - (first > 0 ? 1 : 0) - (last > 0 ? 1 : 0);
  const std::int64_t layers = state.job.shape.layers - first - last;
  if (layers < 0 || stages < 0 || (stages == 0 ? layers != 0 : layers % stages != 0)) {
    return Refuse("{} layers between the first and the last stage do not divide by {}", layers,
                  stages);
  }
  const auto add = [&](std::int64_t count, std::int64_t number) {
    plan.layers_per_stage.insert(plan.layers_per_stage.end(), static_cast<std::size_t>(count),
                                 static_cast<int>(number));
  };
  add(first > 0 ? 1 : 0, first);
  add(stages, stages > 0 ? layers / stages : 0);
  add(last > 0 ? 1 : 0, last);
  return {};
}

void FinishPrecision(MegatronState& state) {
  Precision& precision = state.job.training.precision;
  precision.compute = state.is_bf16   ? DataType::kBf16
                      : state.is_fp16 ? DataType::kFp16
                                      : DataType::kFp32;
  const DataType narrow = state.has_block_scales ? DataType::kFp8Block : DataType::kFp8;
  precision.gemm_type = state.is_fp4 ? DataType::kNvfp4 : state.is_fp8 ? narrow : precision.compute;
  const bool is_half = state.is_bf16 || state.is_fp16;
  // bf16 always accumulates in fp32 unless told otherwise; fp16 only when told.
  const bool is_wide =
      !is_half || state.gradients_in_fp32 || (state.is_bf16 && !state.gradients_in_bf16);
  precision.gradient_bytes = is_wide ? 4 : 2;
  precision.has_master = is_half;
  if (!is_half) {
    precision.gathered_bytes = 4;
  }
  precision.moment_bytes = std::max(state.first_moment_bytes, state.second_moment_bytes);
  if (state.first_moment_bytes != state.second_moment_bytes) {
    state.job.not_modelled.push_back(fmt::format(
        "--exp-avg-dtype and --exp-avg-sq-dtype differ: both moments are taken for the wider, {} "
        "bytes",
        precision.moment_bytes));
  }
}

void FinishRecompute(MegatronState& state) {
  Plan& plan = state.job.plan;
  if (plan.recompute == Recompute::kSelective && !state.recomputes_attention) {
    plan.recompute = Recompute::kNothing;
  }
  plan.recompute_layers = state.recomputes_in_blocks ? static_cast<int>(state.recompute_layers) : 0;
}

Status FinishSharding(MegatronState& state) {
  if (state.keeps_gathered && state.job.plan.sharding == Sharding::kParameters) {
    state.job.plan.sharding = Sharding::kKeepGathered;
  }
  if (!state.shards_with_fsdp) {
    return {};
  }
  static const std::map<std::string_view, Sharding> kStrategies{
      {"no_shard", Sharding::kReplicated},
      {"optim", Sharding::kOptimizer},
      {"optim_grads", Sharding::kGradients},
      {"optim_grads_params", Sharding::kParameters}};
  const auto found = kStrategies.find(state.sharding);
  if (found == kStrategies.end()) {
    return Refuse("--data-parallel-sharding-strategy cannot be '{}'", state.sharding);
  }
  state.job.plan.sharding = found->second;
  return {};
}

void FinishLauncher(MegatronState& state) {
  const std::int64_t gpus = state.nodes * state.gpus_of_node;
  if (gpus > 0 && gpus <= std::numeric_limits<int>::max()) {
    state.job.gpus = static_cast<int>(gpus);
  }
}

// "[0]*3", "[1,0]": adds its elements. False when it is not such a term.
bool AddTerm(std::string_view term, std::vector<bool>& pattern) {
  const std::size_t close = term.find(']');
  if (!term.starts_with('[') || close == std::string_view::npos) {
    return false;
  }
  std::vector<bool> once;
  for (const char c : term.substr(1, close - 1)) {
    if (c == '0' || c == '1') {
      once.push_back(c == '1');
    } else if (c != ',' && c != ' ') {
      return false;
    }
  }
  const std::string_view rest = term.substr(close + 1);
  const auto times = rest.empty()            ? 1
                     : rest.starts_with('*') ? ParseInteger(rest.substr(1)).value_or(0)
                                             : 0;
  for (std::int64_t i = 0; i < times && pattern.size() < 100'000; ++i) {
    pattern.insert(pattern.end(), once.begin(), once.end());
  }
  return times > 0;
}

}  // namespace

Result<std::vector<std::string>> ShellWords(std::string_view text) {
  return WordReader(text).Read();
}

std::optional<std::vector<bool>> ExpertPattern(std::string_view text, std::int64_t layers) {
  std::vector<bool> pattern;
  if (const auto every = ParseInteger(text)) {
    for (std::int64_t layer = 0; *every > 0 && layer < layers; ++layer) {
      pattern.push_back(layer % *every == 0);
    }
  } else {
    std::string bare(text);
    std::erase_if(bare, [](char c) { return c == ' ' || c == '(' || c == ')'; });
    for (std::size_t start = 0; start <= bare.size();) {
      const std::size_t end = std::min(bare.find('+', start), bare.size());
      if (!AddTerm(std::string_view(bare).substr(start, end - start), pattern)) {
        return std::nullopt;
      }
      start = end + 1;
    }
  }
  if (std::cmp_not_equal(pattern.size(), layers)) {
    return std::nullopt;
  }
  return pattern;
}

Result<MegatronJob> ReadMegatronArguments(std::string_view text, const Framework& framework) {
  ORRERY_TRY(const std::vector<std::string> words, ShellWords(text));
  MegatronState state = Defaults(framework);
  ORRERY_TRY_STATUS(ReadOptions(words, state));
  FinishWidth(state);
  FinishHeads(state);
  ORRERY_TRY_STATUS(FinishWindows(state));
  FinishEnds(state);
  ORRERY_TRY_STATUS(FinishExperts(state));
  ORRERY_TRY_STATUS(FinishChunks(state));
  ORRERY_TRY_STATUS(FinishStages(state));
  FinishPrecision(state);
  FinishRecompute(state);
  ORRERY_TRY_STATUS(FinishSharding(state));
  FinishLauncher(state);
  return std::move(state.job);
}

}  // namespace orrery::workload
