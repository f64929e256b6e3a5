#include "orrery/search/dimensions.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

#include "orrery/base/error.h"
#include "orrery/base/text/nearest_word.h"
#include "orrery/base/text/parse_number.h"
#include "orrery/workload/input.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/job_file.h"
#include "orrery/workload/keys/job_keys.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/plan/plan.h"
#include "orrery/workload/plan/sharding.h"

namespace orrery::search {
namespace {

using workload::Job;
using workload::PipelineSchedule;
using workload::Plan;
using workload::Recompute;

bool Never(const Job& /*job*/) {
  return false;
}

bool HasNoTensors(const Job& job) {
  return job.plan.tp == 1;
}

bool HasNoContext(const Job& job) {
  return job.plan.cp == 1;
}

bool HasNoPipeline(const Job& job) {
  return job.plan.pp == 1;
}

bool HasNoExperts(const Job& job) {
  return job.plan.ep == 1;
}

bool HasOneReplica(const Job& job) {
  return job.plan.tp * job.plan.pp * workload::LayerCopies(job.plan) == job.gpus;
}

bool RecomputesNoLayers(const Job& job) {
  return job.plan.recompute != Recompute::kFull;
}

bool RecomputesLayers(const Job& job) {
  return job.plan.recompute == Recompute::kFull || job.plan.recompute == Recompute::kOperators;
}

bool HasNoChunks(const Job& job) {
  return job.plan.pp == 1 || job.plan.schedule != PipelineSchedule::kInterleaved;
}

// Tells whether a plan lacks the feature that `needs` of a key names (data/workload/job_keys.yaml).
bool (*IdleWithout(std::string_view needs))(const Job& job) {
  constexpr std::array<std::pair<std::string_view, bool (*)(const Job&)>, 8> kLacks{
      {{"tp", HasNoTensors},
       {"cp", HasNoContext},
       {"pp", HasNoPipeline},
       {"ep", HasNoExperts},
       {"chunks", HasNoChunks},
       {"replicas", HasOneReplica},
       {"whole_blocks", RecomputesNoLayers},
       {"kept_blocks", RecomputesLayers}}};
  const auto* const found =
      std::ranges::find(kLacks, needs, [](const auto& lack) { return lack.first; });
  return found == kLacks.end() ? Never : found->second;
}

constexpr int kMostStages = 64;
constexpr std::int64_t kLeastTokensOfContext = 2048;
constexpr std::int64_t kLargestMicroBatch = 8;
constexpr int kMostChunks = 10;

std::vector<std::string> PowersOfTwo(std::int64_t most) {
  std::vector<std::string> values;
  for (std::int64_t value = 1; value <= most; value *= 2) {
    values.push_back(std::to_string(value));
  }
  return values;
}

std::vector<std::string> Divisors(std::int64_t number, std::int64_t least, std::int64_t most) {
  std::vector<std::string> values;
  for (std::int64_t value = least; value <= std::min(number, most); ++value) {
    if (number % value == 0) {
      values.push_back(std::to_string(value));
    }
  }
  return values;
}

std::int64_t NumLayers(const Job& job) {
  const workload::Transformer* const model = job.model.transformer();
  return model != nullptr ? model->num_blocks() : 1;
}

// The number that "divisors" of a key divide.
std::int64_t DividedBy(std::string_view key, const Job& job) {
  if (key == "plan.chunks" || key == "plan.recompute_layers") {
    return NumLayers(job);
  }
  const workload::Experts* const experts = workload::ExpertsOf(job.model);
  if (key == "plan.ep" && experts != nullptr) {
    return experts->count;
  }
  return key.starts_with("training.") ? job.training.global_batch : job.gpus;
}

// The last value of "powers_of_two" of a key.
std::int64_t LargestOf(std::string_view key, const Job& job) {
  return key == "plan.chunks" || key == "plan.pp" ? std::min<std::int64_t>(NumLayers(job), job.gpus)
                                                  : DividedBy(key, job);
}

std::string TextOf(const YAML::Node& node) {
  YAML::Emitter emitter;
  emitter << YAML::Flow << node;
  return emitter.c_str();
}

Result<std::vector<std::string>> ValuesOf(const std::string& key, const YAML::Node& node,
                                          const Job& job) {
  std::vector<std::string> values;
  if (node.IsScalar() && node.Scalar() == "divisors") {
    values = Divisors(DividedBy(key, job), 1, DividedBy(key, job));
  } else if (node.IsScalar() && node.Scalar() == "powers_of_two") {
    values = PowersOfTwo(LargestOf(key, job));
  } else if (node.IsSequence()) {
    for (const YAML::Node& value : node) {
      values.push_back(TextOf(value));
    }
  } else if (node.IsScalar()) {
    values.push_back(node.Scalar());
  }
  if (values.empty()) {
    return workload::Refuse(
        "search.{} has no values: give a list such as [1, 2, 4], divisors or powers_of_two", key);
  }
  if (std::set<std::string>(values.begin(), values.end()).size() != values.size()) {
    return workload::Refuse("search.{} names a value twice: name each once", key);
  }
  return values;
}

// "tp within node", "global_batch fixed".
Status AddCondition(const std::string& condition, const Job& job, SearchSection& section) {
  if (condition == "global_batch fixed") {
    return {};
  }
  const std::size_t space = condition.find(' ');
  const std::string key = "plan." + condition.substr(0, space);
  if (space == std::string::npos || condition.substr(space) != " within node" ||
      (key != "plan.tp" && key != "plan.cp" && key != "plan.ep")) {
    return workload::Refuse(
        "search.must: '{}' is not understood: write 'tp within node' (or cp, ep) or "
        "'global_batch fixed'",
        condition);
  }
  for (Dimension& dimension : section.dimensions) {
    if (dimension.key == key) {
      std::erase_if(dimension.values, [&](const std::string& value) {
        return ParseWhole<int>(value).value_or(0) > job.cluster.gpus_per_node;
      });
      if (dimension.values.empty()) {
        return workload::Refuse("search.must: no value of search.{} is within a node of {} GPUs",
                                key, job.cluster.gpus_per_node);
      }
    }
  }
  return {};
}

Status CheckSearchKey(const std::string& key) {
  constexpr std::array<std::string_view, 9> kSections{
      "model", "training", "plan", "cluster", "framework", "gpu", "gpus", "mechanisms", "megatron"};
  const std::string section = key.substr(0, key.find('.'));
  if (std::ranges::find(kSections, section) != kSections.end()) {
    return {};
  }
  std::vector<std::string_view> known{"memory_share", "global_batch", "must", "others"};
  for (const FastKey& fast : FastKeys()) {
    known.push_back(fast.key);
  }
  return workload::Refuse("search.{} is not a key of a job; the nearest is {}", key,
                          NearestWord(key, known));
}

Status AddEntry(const std::string& key, const YAML::Node& value, const Job& job,
                SearchSection& section) {
  if (key == "memory_share") {
    const std::optional<double> share = ParseWhole<double>(value.IsScalar() ? value.Scalar() : "");
    if (!share || !(*share > 0) || *share > 1) {
      return workload::Refuse("search.memory_share must be above 0 and at most 1");
    }
    section.memory_share = *share;
    return {};
  }
  if (key == "global_batch") {
    return value.IsScalar() && value.Scalar() == "fixed"
               ? Status()
               : Status(workload::Refuse(
                     "search.global_batch is fixed: plans of different global batches are not "
                     "compared; search once for each, with --set training.global_batch=N"));
  }
  if (key == "others") {
    const std::string word = value.IsScalar() ? value.Scalar() : "";
    if (word != "usual" && word != "fixed") {
      return workload::Refuse("search.others must be usual or fixed");
    }
    section.has_usual = word == "usual";
    return {};
  }
  ORRERY_TRY_STATUS(CheckSearchKey(key));
  ORRERY_TRY(std::vector<std::string> values, ValuesOf(key, value, job));
  section.dimensions.push_back({key, std::move(values)});
  return {};
}

// Keys of the section, and those that --set changes in it.
Status ReadEntries(const YAML::Node& node, const Job& job, SearchSection& section) {
  if (!node.IsMap()) {
    return workload::Refuse(
        "search is not a mapping: write keys of the job with their values, such as plan.tp: [1, "
        "2]");
  }
  section.has_usual = false;
  for (const auto& entry : node) {
    const auto key = entry.first.as<std::string>();
    if (key != "must") {
      ORRERY_TRY_STATUS(AddEntry(key, entry.second, job, section));
    }
  }
  if (const YAML::Node must = node["must"]) {
    for (const YAML::Node& condition : must) {
      ORRERY_TRY_STATUS(AddCondition(condition.IsScalar() ? condition.Scalar() : "", job, section));
    }
  }
  return {};
}

}  // namespace

const std::vector<FastKey>& FastKeys() {
  static const std::vector<FastKey> kKeys = [] {
    std::vector<const workload::JobKey*> free;
    for (const workload::JobKey& key : workload::JobKeys()) {
      if (key.search.place > 0) {
        free.push_back(&key);
      }
    }
    std::ranges::sort(free, {}, [](const workload::JobKey* key) { return key->search.place; });
    std::vector<FastKey> keys;
    for (const workload::JobKey* key : free) {
      const workload::SearchRole& role = key->search;
      keys.push_back({key->path, role.copy, IdleWithout(role.needs), role.changes_layers});
    }
    return keys;
  }();
  return kKeys;
}

std::size_t FastKeyOf(std::string_view key) {
  const auto found = std::ranges::find(FastKeys(), key, &FastKey::key);
  return static_cast<std::size_t>(found - FastKeys().begin());
}

std::vector<Dimension> UsualDimensions(const Job& job) {
  std::vector<Dimension> dimensions;
  const auto add = [&](std::string key, std::vector<std::string> values) {
    if (values.size() > 1) {
      dimensions.push_back({std::move(key), std::move(values)});
    }
  };
  const workload::Transformer* const model = job.model.transformer();
  const std::vector<std::string> micro_batches = PowersOfTwo(
      std::min(std::max(kLargestMicroBatch, job.training.micro_batch), job.training.global_batch));
  if (model == nullptr) {
    add("training.micro_batch", micro_batches);
    add("plan.sharding", {"none", "zero1", "zero2", "zero3"});
    return dimensions;
  }
  add("plan.tp", PowersOfTwo(std::min(job.cluster.island.gpus, job.gpus)));
  add("plan.cp", PowersOfTwo(std::min<std::int64_t>(
                     {job.training.sequence / kLeastTokensOfContext, job.gpus, 16})));
  add("plan.context", {"ring", "all_gather", "ulysses"});
  if (const workload::Experts* const experts = workload::ExpertsOf(job.model)) {
    add("plan.ep", Divisors(experts->count, 1, std::min<std::int64_t>(job.gpus, 64)));
    add("plan.expert_tp", {"1", "2", "4"});
    add("plan.dispatch", {"all_to_all", "all_gather", "flex"});
  }
  add("plan.sequence_parallel", {"true", "false"});
  add("training.micro_batch", micro_batches);
  // Flash kernels keep no scores that selective recomputation could leave out.
  add("plan.recompute", job.framework.attention == workload::AttentionKernel::kMaterialised
                            ? std::vector<std::string>{"none", "selective", "full"}
                            : std::vector<std::string>{"none", "full"});
  add("plan.recompute_share", {"1", "0.75", "0.5", "0.25"});
  add("plan.recompute_parts", workload::HasExperts(job.model)
                                  ? std::vector<std::string>{"[]", "[norms]", "[activations]",
                                                             "[norms, activations]", "[experts]"}
                                  : std::vector<std::string>{"[]", "[norms]", "[activations]",
                                                             "[norms, activations]", "[mlp]"});
  add("plan.pp", Divisors(job.gpus, 1, std::min<std::int64_t>(NumLayers(job), kMostStages)));
  add("plan.schedule", {"1f1b", "interleaved", "zb-h1", "zb-v"});
  add("plan.chunks", Divisors(NumLayers(job), 2, kMostChunks));
  add("plan.pipeline_is_innermost", {"false", "true"});
  add("plan.sharding", {"zero1", "zero2", "zero3", "hsdp", "none"});
  add("plan.offload_optimizer", {"false", "true"});
  return dimensions;
}

Result<std::vector<std::string>> GpuCounts(const std::string& text) {
  const auto refuse = [&] {
    return workload::Refuse(
        "--gpus {}: write a number, a list such as 64,96,128, or a range such as 64..1024, which "
        "doubles",
        text);
  };
  std::vector<std::string> counts;
  if (const std::size_t dots = text.find(".."); dots != std::string::npos) {
    const std::optional<int> first = ParseWhole<int>(text.substr(0, dots));
    const std::optional<int> last = ParseWhole<int>(text.substr(dots + 2));
    if (!first || !last || *first < 1 || *last < *first) {
      return refuse();
    }
    for (std::int64_t count = *first; count <= *last; count *= 2) {
      counts.push_back(std::to_string(count));
    }
    return counts;
  }
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    const std::optional<int> count = ParseWhole<int>(text.substr(begin, comma - begin));
    if (!count || *count < 1) {
      return refuse();
    }
    counts.push_back(std::to_string(*count));
    begin = comma + 1;
  }
  return counts;
}

Result<SearchSection> ReadSearchSection(const workload::JobText& text,
                                        const std::vector<std::string>& overrides, const Job& job) {
  SearchSection section;
  ORRERY_TRY_STATUS(
      workload::WithYaml(text.place, text.yaml, [&](const YAML::Node& root) -> Result<int> {
        if (const YAML::Node node = root["search"]) {
          if (const Status read = ReadEntries(node, job, section); !read) {
            return FailWithin(text.place, read);
          }
        }
        return 0;
      }).map([](int) {}));
  const auto is_set = [&](const Dimension& dimension) {
    return std::ranges::any_of(
        overrides, [&](const std::string& set) { return set.starts_with(dimension.key + "="); });
  };
  std::erase_if(section.dimensions, is_set);
  if (!section.has_usual) {
    if (section.dimensions.empty()) {
      return workload::Refuse(
          "{}: search frees no key: name one with its values, or 'others: usual'", text.place);
    }
    return section;
  }
  for (Dimension& usual : UsualDimensions(job)) {
    const bool is_named = std::ranges::find(section.dimensions, usual.key, &Dimension::key) !=
                          section.dimensions.end();
    if (!is_named && !is_set(usual)) {
      section.dimensions.push_back(std::move(usual));
    }
  }
  return section;
}

}  // namespace orrery::search
