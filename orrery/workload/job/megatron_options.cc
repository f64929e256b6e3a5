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

#include "orrery/base/text/decimal.h"
#include "orrery/base/text/nearest_word.h"
#include "orrery/base/text/number_list.h"
#include "orrery/base/text/text.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/megatron_arguments.h"
#include "orrery/workload/job_key_words.h"
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

constexpr std::array<Word<int>, 4> kMomentBytes{
    {{"fp32", 4}, {"fp16", 2}, {"bf16", 2}, {"fp8", 1}}};

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

bool TakeRotaryPositions(MegatronState& state, std::string_view /*value*/) {
  return TakePositions(state, "rope");
}

// "2 4": heads are sharded over 2 neighbours, rings of 4 go across.
bool TakeUlyssesRanks(MegatronState& state, std::string_view sizes) {
  return Take(sizes.substr(0, sizes.find(' ')), state.job.plan.ulysses_ranks);
}

bool TakeGlobalBatch(MegatronState& state, std::string_view value) {
  state.job.has_global_batch = true;
  return Take(value, state.job.training.global_batch);
}

bool TakeFp8Recipe(MegatronState& state, std::string_view recipe) {
  state.has_block_scales = recipe == "blockwise";
  return true;
}

bool TakeBucketSize(MegatronState& state, std::string_view value) {
  state.job.framework.scales_bucket_with_ranks = false;
  return Take(value, state.job.framework.least_bucket_elements);
}

#include "orrery/workload/megatron_options.inc"

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
  const bool has_value = std::ranges::find(kIgnoredValues, dashed) != kIgnoredValues.end();
  const bool is_switch = std::ranges::find(kIgnoredSwitches, dashed) != kIgnoredSwitches.end();
  return has_value || is_switch
             ? std::optional(MegatronOption{.name = name, .has_value = has_value})
             : std::nullopt;
}

}  // namespace orrery::workload
