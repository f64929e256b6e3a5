#include "orrery/compat/simai/workload.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/error.h"
#include "orrery/base/text/decimal.h"
#include "orrery/base/units.h"
#include "orrery/compat/simai/bus_bandwidth.h"
#include "orrery/workload/input.h"

namespace orrery::compat::simai {
namespace {

using workload::ReadUnpackedFile;

constexpr std::string_view kBlanks = " \t\r";
constexpr std::size_t kFieldsOfLayer = 12;
// Beyond a day or a pebibyte a number is a mistake, and below them sums do not overflow.
constexpr std::int64_t kMaxNanoseconds = 86'400'000'000'000;
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 50;
constexpr std::int64_t kMaxDegree = 1 << 20;
constexpr std::int64_t kMaxGpus = 1 << 24;
constexpr std::int64_t kMaxLayers = 1 << 24;

constexpr std::array<std::string_view, 3> kFirstWords = {"HYBRID_TRANSFORMER_FWD_IN_BCKWD",
                                                         "HYBRID_TRANSFORMER", "MICRO"};

std::vector<std::string_view> Words(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t begin = line.find_first_not_of(kBlanks); begin != std::string_view::npos;
       begin = line.find_first_not_of(kBlanks, begin)) {
    const std::size_t end = std::min(line.find_first_of(kBlanks, begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    begin = end;
  }
  return words;
}

/// Hands out the lines that are not blank, and counts all.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}

  /// The words of the next line; none at the end.
  std::vector<std::string_view> Next() {
    while (!rest_.empty()) {
      const std::size_t end = std::min(rest_.find('\n'), rest_.size());
      const std::vector<std::string_view> words = Words(rest_.substr(0, end));
      rest_.remove_prefix(std::min(end + 1, rest_.size()));
      ++number_;
      if (!words.empty()) {
        return words;
      }
    }
    return {};
  }

  [[nodiscard]] int number() const { return number_; }

 private:
  std::string_view rest_;
  int number_ = 0;
};

tl::unexpected<Error> FailAt(const Lines& lines, std::string_view what) {
  return Fail(Error::Kind::kInvalidInput, fmt::format("line {}: {}", lines.number(), what));
}

Result<std::int64_t> NumberIn(const Lines& lines, std::string_view what, std::string_view text,
                              std::int64_t least, std::int64_t most) {
  const std::optional<std::int64_t> number = ParseInteger(text);
  if (!number || *number < least || *number > most) {
    return FailAt(lines, fmt::format("{} is '{}', and must be a whole number from {} to {}", what,
                                     text, least, most));
  }
  return *number;
}

// The first line: pairs of a key and its number, with a colon or without.

int* DegreeNamed(std::string_view key, Workload& workload) {
  const std::array<std::pair<std::string_view, int*>, 6> degrees = {
      {{"model_parallel_NPU_group", &workload.tensor},
       {"ep", &workload.expert},
       {"pp", &workload.pipeline},
       {"vpp", &workload.chunks},
       {"ga", &workload.accumulation},
       {"all_gpus", &workload.gpus}}};
  const auto* const found =
      std::find_if(degrees.begin(), degrees.end(), [&](const auto& d) { return d.first == key; });
  return found == degrees.end() ? nullptr : found->second;
}

Status ReadPair(const Lines& lines, std::string_view key, std::string_view value,
                Workload& workload) {
  if (int* const degree = DegreeNamed(key, workload)) {
    ORRERY_TRY(const std::int64_t number, NumberIn(lines, key, value, 1, kMaxDegree));
    *degree = static_cast<int>(number);
    return {};
  }
  if (key == "pp_comm") {
    ORRERY_TRY(const std::int64_t number, NumberIn(lines, key, value, 0, kMaxBytes));
    workload.pipeline_message = {number};
    return {};
  }
  const bool is_recomputed = key == "checkpoints" || key == "checkpoint_initiates";
  if (is_recomputed && value == "0") {
    return {};
  }
  workload.problems.Loss(is_recomputed ? "layers that are computed again are not modelled"
                                       : "keys of the first line that are not known",
                         1, key);
  return {};
}

Status ReadHeader(const Lines& lines, const std::vector<std::string_view>& words,
                  Workload& workload) {
  if (words.empty() ||
      std::find(kFirstWords.begin(), kFirstWords.end(), words[0]) == kFirstWords.end()) {
    return FailAt(lines, fmt::format("a SimAI workload begins with {}, {} or {}, not with '{}'",
                                     kFirstWords[0], kFirstWords[1], kFirstWords[2],
                                     words.empty() ? "" : words[0]));
  }
  workload.is_micro = words[0] == "MICRO";
  for (std::size_t i = 1; i < words.size();) {
    if (ParseInteger(words[i])) {  // the list of a key that is not modelled
      ++i;
      continue;
    }
    if (i + 1 == words.size()) {
      return FailAt(lines, fmt::format("'{}' has no number behind it", words[i]));
    }
    ORRERY_TRY_STATUS(ReadPair(
        lines, words[i].ends_with(':') ? words[i].substr(0, words[i].size() - 1) : words[i],
        words[i + 1], workload));
    i += 2;
  }
  return {};
}

// A layer: name, dependency, three passes of three fields, and one time more.

Group TakeGroup(std::string_view& name, Group fallback) {
  constexpr std::array<std::pair<std::string_view, Group>, 2> kSuffixes = {
      {{"_DP_EP", Group::kExpertData}, {"_EP", Group::kExpert}}};
  for (const auto& [suffix, group] : kSuffixes) {
    if (name.ends_with(suffix)) {
      name.remove_suffix(suffix.size());
      return group;
    }
  }
  return fallback;
}

struct PassColumns {
  std::string_view name;
  Group default_group;
  Pass Layer::* pass;
};

constexpr std::array<PassColumns, 3> kPasses = {
    {{"forward", Group::kTensor, &Layer::forward},
     {"input gradient", Group::kTensor, &Layer::input_gradient},
     {"weight gradient", Group::kData, &Layer::weight_gradient}}};

Result<Pass> PassOf(const Lines& lines, const PassColumns& columns, const std::string_view* words) {
  Pass pass;
  ORRERY_TRY(pass.compute_ns, NumberIn(lines, fmt::format("the {}'s time", columns.name), words[0],
                                       0, kMaxNanoseconds));
  ORRERY_TRY(const std::int64_t size,
             NumberIn(lines, fmt::format("the {}'s size", columns.name), words[2], 0, kMaxBytes));
  std::string_view name = words[1];
  if (name == "NONE") {
    return pass;
  }
  const Group group = TakeGroup(name, columns.default_group);
  constexpr std::array<std::pair<std::string_view, CollectiveKind>, 5> kKinds = {
      {{"ALLREDUCE", CollectiveKind::kAllReduce},
       {"ALLGATHER", CollectiveKind::kAllGather},
       {"REDUCESCATTER", CollectiveKind::kReduceScatter},
       {"ALLTOALL", CollectiveKind::kAllToAll},
       {"BROADCAST", CollectiveKind::kBroadcast}}};
  const auto* const found =
      std::find_if(kKinds.begin(), kKinds.end(), [&](const auto& k) { return k.first == name; });
  const std::optional<CollectiveKind> kind =
      found == kKinds.end() ? std::nullopt : std::optional(found->second);
  if (!kind) {
    return FailAt(lines,
                  fmt::format("'{}' is no collective: NONE, ALLREDUCE, ALLGATHER, REDUCESCATTER, "
                              "ALLTOALL or BROADCAST, with _EP or _DP_EP behind it",
                              words[1]));
  }
  pass.collective = {*kind, group, {size}};
  return pass;
}

Result<Layer> LayerOf(const Lines& lines, const std::vector<std::string_view>& words) {
  if (words.size() != kFieldsOfLayer) {
    return FailAt(lines,
                  fmt::format("{} fields, and a layer has {}", words.size(), kFieldsOfLayer));
  }
  Layer layer{.name = std::string(words[0])};
  ORRERY_TRY(layer.dependency, NumberIn(lines, "the dependency", words[1], -1,
                                        std::numeric_limits<std::int32_t>::max()));
  for (std::size_t i = 0; i < kPasses.size(); ++i) {
    ORRERY_TRY(layer.*kPasses[i].pass, PassOf(lines, kPasses[i], words.data() + 2 + 3 * i));
  }
  ORRERY_TRY(layer.process_ns, NumberIn(lines, "the last field", words.back(), 0, kMaxNanoseconds));
  return layer;
}

// SimAI reads as many layers as are announced.
Status ReadLayers(Lines& lines, std::int64_t announced, Workload& workload) {
  for (auto words = lines.Next(); !words.empty(); words = lines.Next()) {
    if (static_cast<std::int64_t>(workload.layers.size()) == announced) {
      workload.problems.Loss("layers beyond the announced number", 1,
                             fmt::format("line {}", lines.number()));
      continue;
    }
    ORRERY_TRY(Layer layer, LayerOf(lines, words));
    workload.layers.push_back(std::move(layer));
  }
  const std::int64_t missing = announced - static_cast<std::int64_t>(workload.layers.size());
  if (missing > 0) {
    workload.problems.Loss("layers announced but not there", missing, "line 2");
  }
  return {};
}

Status CheckPlan(const Workload& workload) {
  const std::int64_t needed = std::int64_t{workload.tensor} * workload.pipeline;
  if (needed * workload.expert > kMaxGpus) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("line 1: tensor {}, expert {} and pipeline {} make more than {} GPUs",
                            workload.tensor, workload.expert, workload.pipeline, kMaxGpus));
  }
  if (workload.gpus == 0 || workload.gpus % needed == 0) {
    return {};
  }
  return Fail(Error::Kind::kInvalidInput,
              fmt::format("line 1: all_gpus {} is no multiple of model_parallel_NPU_group {} times "
                          "pp {}",
                          workload.gpus, workload.tensor, workload.pipeline));
}

constexpr std::int64_t kLeastForwardBytes = 4096;

// Fields by Group, in the order of its enumerators.
constexpr std::array kHiddenShareOf = {&HiddenShares::tensor, &HiddenShares::expert,
                                       &HiddenShares::data, &HiddenShares::expert_data};
constexpr std::array kPartOf = {&StepTimes::tensor_ns, &StepTimes::expert_ns, &StepTimes::data_ns,
                                &StepTimes::expert_data_ns};

/// Adds the collectives of a step; layers repeat, so their times are cached.
class CollectiveTimes {
 public:
  CollectiveTimes(const Plan& plan, const Settings& settings) : plan_(plan), settings_(settings) {}

  /// Adds the exposed time to its part of the step and returns the whole time.
  Result<std::int64_t> Add(const Pass& pass, StepTimes& step) {
    if (!pass.collective) {
      return 0;
    }
    const Collective& collective = *pass.collective;
    if (!IsModelled(collective.kind)) {
      ++step.num_free_calls;
      return 0;
    }
    ORRERY_TRY(const std::int64_t total_ns, TimeOf(collective));
    const auto group = static_cast<std::size_t>(collective.group);
    step.*kPartOf[group] +=
        static_cast<double>(total_ns) * (1 - settings_.overlap.*kHiddenShareOf[group]);
    return total_ns;
  }

 private:
  Result<std::int64_t> TimeOf(const Collective& collective) {
    const auto [found, is_new] =
        times_ns_.try_emplace({collective.kind, collective.group, collective.size.count});
    if (is_new) {
      ORRERY_TRY(const Duration time, CollectiveTime(collective, plan_, settings_.machine));
      found->second = time.nanoseconds;
    }
    return found->second;
  }

  Plan plan_;
  const Settings& settings_;
  std::map<std::tuple<CollectiveKind, Group, std::int64_t>, std::int64_t> times_ns_;
};

/// SimAI rounds the size of the forward pass up to a page, and only that.
Pass WithWholePage(Pass pass) {
  if (pass.collective && pass.collective->size.count > 0) {
    pass.collective->size.count = std::max(pass.collective->size.count, kLeastForwardBytes);
  }
  return pass;
}

}  // namespace

bool LooksLikeWorkload(std::string_view head) {
  const std::vector<std::string_view> words = Lines(head).Next();
  return !words.empty() &&
         std::find(kFirstWords.begin(), kFirstWords.end(), words[0]) != kFirstWords.end();
}

Result<Workload> ParseWorkload(std::string_view text) {
  Workload workload;
  Lines lines(text);
  const std::vector<std::string_view> header = lines.Next();
  ORRERY_TRY_STATUS(ReadHeader(lines, header, workload));
  ORRERY_TRY_STATUS(CheckPlan(workload));
  const std::vector<std::string_view> count = lines.Next();
  if (count.size() != 1) {
    return FailAt(lines, "the second line gives the number of layers and nothing else");
  }
  ORRERY_TRY(const std::int64_t announced,
             NumberIn(lines, "the number of layers", count[0], 1, kMaxLayers));
  ORRERY_TRY_STATUS(ReadLayers(lines, announced, workload));
  if (workload.layers.empty()) {
    return FailAt(lines, "no layer follows");
  }
  return workload;
}

Result<Workload> ReadWorkload(const std::string& path) {
  ORRERY_TRY(const std::string text, ReadUnpackedFile(path));
  Result<Workload> workload = ParseWorkload(text);
  if (!workload) {
    return FailWithin(path, workload);
  }
  return workload;
}

Result<StepTimes> SimulateStep(const Workload& workload, const Settings& settings) {
  StepTimes step;
  const int least = workload.tensor * workload.pipeline * workload.expert;
  CollectiveTimes times({.gpus = workload.gpus == 0 ? least : workload.gpus,
                         .tensor = workload.tensor,
                         .expert = workload.expert,
                         .pipeline = workload.pipeline},
                        settings);
  double pipelined_ns = 0;
  for (const Layer& layer : workload.layers) {
    ORRERY_TRY(const std::int64_t forward_ns, times.Add(WithWholePage(layer.forward), step));
    ORRERY_TRY(const std::int64_t backward_ns, times.Add(layer.input_gradient, step));
    ORRERY_TRY_STATUS(times.Add(layer.weight_gradient, step));
    const auto compute_ns =
        static_cast<double>(layer.forward.compute_ns + layer.input_gradient.compute_ns +
                            layer.weight_gradient.compute_ns);
    step.compute_ns += compute_ns;
    if (layer.name != "embedding_layer") {  // only on the first stage
      pipelined_ns += static_cast<double>(forward_ns + backward_ns) + compute_ns;
    }
  }
  step.bubble_ns = pipelined_ns * (workload.pipeline - 1) / workload.accumulation / workload.chunks;
  return step;
}

std::string StepText(const StepTimes& step) {
  const std::array<std::pair<std::string_view, double>, 8> parts = {
      {{"exposed DP", step.data_ns},
       {"exposed DP_EP", step.expert_data_ns},
       {"exposed TP", step.tensor_ns},
       {"exposed EP", step.expert_ns},
       {"exposed PP", step.pipeline_ns},
       {"bubble", step.bubble_ns},
       {"compute", step.compute_ns},
       {"total", step.total_ns()}}};
  std::string text;
  for (const auto& [name, part_ns] : parts) {
    const double share = step.total_ns() > 0 ? part_ns / step.total_ns() : 0;
    text += fmt::format("{:<13} {:>12.0f} us {:>6.2f}%\n", name, part_ns / 1e3, 100 * share);
  }
  return text;
}

}  // namespace orrery::compat::simai
