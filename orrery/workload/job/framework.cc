#include "orrery/workload/job/framework.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

#include "orrery/base/check.h"
#include "orrery/base/error.h"
#include "orrery/base/text.h"
#include "orrery/base/yaml_fields.h"
#include "orrery/hardware/gpu.h"
#include "orrery/workload/embedded_framework_fits.h"
#include "orrery/workload/embedded_frameworks.h"
#include "orrery/workload/input.h"
#include "orrery/workload/job/framework_fits_text.h"
#include "orrery/workload/job/plan_yaml.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::workload {
namespace {

constexpr std::array<Spelling<AttentionKernel>, 4> kAttentionKernels{{
    {"flash", AttentionKernel::kFlash},
    {"flash2", AttentionKernel::kFlash2},
    {"flash1", AttentionKernel::kFlash1},
    {"materialised", AttentionKernel::kMaterialised},
}};

constexpr std::array<Spelling<TensorOverlap>, 3> kTensorOverlaps{{
    {"never", TensorOverlap::kNever},
    {"backward", TensorOverlap::kBackward},
    {"pipelined", TensorOverlap::kPipelined},
}};

constexpr std::array<Spelling<CudaGraphs>, 3> kCudaGraphs{{
    {"none", CudaGraphs::kOff},
    {"layers", CudaGraphs::kLayers},
    {"step", CudaGraphs::kStep},
}};

constexpr std::array<Spelling<DataOverlap>, 2> kDataOverlaps{{
    {"after_backward", DataOverlap::kAfterBackward},
    {"buckets", DataOverlap::kBuckets},
}};

constexpr std::array<Spelling<TokenDispatch>, 3> kDispatches{{
    {"all_to_all", TokenDispatch::kAllToAll},
    {"all_gather", TokenDispatch::kAllGather},
    {"flex", TokenDispatch::kFlex},
}};

constexpr auto kFlags = std::to_array<std::pair<std::string_view, bool Framework::*>>({
    {"fuses_bias_activation", &Framework::fuses_bias_activation},
    {"fuses_dropout_add", &Framework::fuses_dropout_add},
    {"fuses_rope", &Framework::fuses_rope},
    {"fuses_softmax", &Framework::fuses_softmax},
    {"fuses_norm", &Framework::fuses_norm},
    {"fuses_cross_entropy", &Framework::fuses_cross_entropy},
    {"splits_loss", &Framework::splits_loss},
    {"keeps_gathered_inputs", &Framework::keeps_gathered_inputs},
    {"fuses_gradient_accumulation", &Framework::fuses_gradient_accumulation},
    {"narrows_gradients", &Framework::narrows_gradients},
    {"scales_gradients_once", &Framework::scales_gradients_once},
    {"is_compiled", &Framework::is_compiled},
    {"has_unfused_layers", &Framework::has_unfused_layers},
    {"copies_shards", &Framework::copies_shards},
    {"wraps_communication", &Framework::wraps_communication},
    {"prioritises_communication", &Framework::prioritises_communication},
    {"fuses_permute", &Framework::fuses_permute},
    {"launches_each_expert", &Framework::launches_each_expert},
    {"reads_routing", &Framework::reads_routing},
    {"sends_narrow_tokens", &Framework::sends_narrow_tokens},
    {"scales_fp8_blocks", &Framework::scales_fp8_blocks},
    {"gathers_in_forward", &Framework::gathers_in_forward},
    {"overlaps_pipeline_sends", &Framework::overlaps_pipeline_sends},
    {"cuts_experts", &Framework::cuts_experts},
    {"overlaps_experts", &Framework::overlaps_experts},
    {"waits_each_pipeline_message", &Framework::waits_each_pipeline_message},
    {"waits_each_batch", &Framework::waits_each_batch},
    {"scales_bucket_with_ranks", &Framework::scales_bucket_with_ranks},
    {"splits_layers_by_work", &Framework::splits_layers_by_work},
    {"launch_blocking", &Framework::launch_blocking},
    {"uses_dropout", &Framework::uses_dropout},
    {"counts_causal_flops", &Framework::counts_causal_flops},
    // Earlier names, accepted for one more release.
    {"spells_out_layers", &Framework::has_unfused_layers},
    {"wraps_exchanges", &Framework::wraps_communication},
});

constexpr std::array<std::pair<std::string_view, std::int64_t Framework::*>, 3> kSizes{{
    {"bucket_bytes", &Framework::bucket_bytes},
    {"first_bucket_bytes", &Framework::first_bucket_bytes},
    {"least_bucket_elements", &Framework::least_bucket_elements},
}};

constexpr std::array<std::string_view, 13> kOtherKeys{"attention",
                                                      "tensor_overlap",
                                                      "data_overlap",
                                                      "reshard",
                                                      "dispatch",
                                                      "expert_nodes",
                                                      "vocabulary_multiple",
                                                      "most_chunks",
                                                      "graphs",
                                                      "sharded_weight_calls",
                                                      "recompute_parts",
                                                      "moment_bytes",
                                                      "activation_input_bytes"};

template <typename Value, std::size_t kCount>
void ReadChoice(YamlFields& fields, std::string_view key,
                const std::array<Spelling<Value>, kCount>& spellings, Value& value) {
  value = fields.Choice(key, std::span<const Spelling<Value>>(spellings), std::optional(value));
}

void ReadScalar(YamlFields& fields, const FittedScalar& scalar, Framework& framework) {
  double& value = framework.*scalar.member;
  value = fields.Number(scalar.key, scalar.least, value);
  if (value > scalar.most) {
    fields.Wrong(scalar.key, fmt::format("must be a number of at most {}", scalar.most),
                 fmt::format("{}", value));
  }
}

void ReadFitted(YamlFields& fields, Framework& framework) {
  for (const FittedScalar& scalar : FittedScalars()) {
    ReadScalar(fields, scalar, framework);
  }
}

void ReadGuessed(YamlFields& fields, Framework& framework) {
  framework.guessed = fields.Texts("guessed", std::vector<std::string>());
  for (const std::string& key : framework.guessed) {
    const auto has_key = [&](const auto& entry) { return entry.first == key; };
    if (std::ranges::none_of(kFlags, has_key) && std::ranges::none_of(kSizes, has_key) &&
        std::ranges::find(kOtherKeys, key) == kOtherKeys.end()) {
      fields.Wrong("guessed", "must be a list of declared properties", key);
    }
  }
}

Framework ReadFramework(YamlFields fields) {
  Framework framework;
  framework.name = fields.Text("name");
  framework.match = fields.WordLists("match");
  framework.releases = fields.Texts("releases", std::vector<std::string>());
  framework.origin = fields.Text("origin");
  framework.scalars_of = fields.Text("scalars_of", std::string());
  ReadGuessed(fields, framework);
  ReadDeclared(fields, framework);
  ReadFitted(fields, framework);
  fields.RefuseOthers();
  return framework;
}

Result<std::vector<Framework>> ReadAll(const YAML::Node& root) {
  std::optional<Error> first_error;
  YamlFields top(root, "catalogue of frameworks", first_error);
  const YAML::Node nodes = top.Node("frameworks");
  top.RefuseOthers();
  std::vector<Framework> frameworks;
  std::set<std::string> names;
  for (std::size_t i = 0; nodes.IsSequence() && i < nodes.size() && !first_error; ++i) {
    const std::string place = EntryPlace("framework", nodes[i], i);
    frameworks.push_back(ReadFramework(YamlFields(nodes[i], place, first_error)));
    if (!first_error && !names.insert(LowerCase(frameworks.back().name)).second) {
      first_error.emplace(Error::Kind::kInvalidInput, place + ": name is used twice");
    }
  }
  if (!first_error && frameworks.empty()) {
    top.Wrong("frameworks", "must be a list of frameworks", "something else");
  }
  if (first_error) {
    return tl::unexpected(*std::move(first_error));
  }
  return frameworks;
}

}  // namespace

std::span<const FittedScalar> FittedScalars() {
  static constexpr std::array<FittedScalar, kNumScalars> kScalars{{
      {"gemm_rate", &Framework::gemm_rate, 0.4, 1.5},
      {"attention_rate", &Framework::attention_rate, 0.3, 2},
      {"memory_rate", &Framework::memory_rate, 0.3, 2},
      {"communication_rate", &Framework::communication_rate, 0.3, 2},
      {"launch_us", &Framework::launch_us, 0, 200},
      {"spread", &Framework::spread, 0, 0.15},
  }};
  return kScalars;
}

void CopyScalars(const Framework& from, Framework& to) {
  for (const FittedScalar& scalar : FittedScalars()) {
    to.*scalar.member = from.*scalar.member;
  }
  to.is_fitted = from.is_fitted;
}

Result<std::vector<Framework>> FrameworksWithFits(const std::string& yaml) {
  ORRERY_TRY(std::vector<Framework> frameworks, ReadFrameworks(kEmbeddedFrameworks));
  const Result<ScalarPopulation> population = ReadFrameworkFits(yaml, frameworks);
  if (!population) {
    return tl::unexpected(population.error());
  }
  for (Framework& framework : frameworks) {
    const auto owner = std::ranges::find(frameworks, framework.scalars_of, &Framework::name);
    if (owner != frameworks.end()) {
      CopyScalars(*owner, framework);
    }
  }
  return frameworks;
}

const std::vector<Framework>& Frameworks() {
  static const std::vector<Framework> catalogue = [] {
    auto frameworks = FrameworksWithFits(kEmbeddedFrameworkFits);
    ORRERY_CHECK(frameworks.has_value(), frameworks ? "" : frameworks.error().message());
    return *std::move(frameworks);
  }();
  return catalogue;
}

const Framework* FindFramework(std::string_view name, std::string_view release) {
  const auto is_called = [&](const Framework& framework) {
    return hardware::IsCalled(name, framework.match);
  };
  const auto has_release = [&](const Framework& framework) {
    return std::ranges::any_of(
        framework.releases, [&](const std::string& start) { return release.starts_with(start); });
  };
  const std::vector<Framework>& frameworks = Frameworks();
  auto found = frameworks.end();
  if (!release.empty()) {
    found = std::ranges::find_if(frameworks, [&](const Framework& framework) {
      return is_called(framework) && (framework.releases.empty() || has_release(framework));
    });
  }
  if (found == frameworks.end()) {
    found = std::ranges::find_if(frameworks, [&](const Framework& framework) {
      return SameIgnoringCase(framework.name, name);
    });
  }
  if (found == frameworks.end()) {
    found = std::ranges::find_if(frameworks, [&](const Framework& framework) {
      return framework.releases.empty() && is_called(framework);
    });
  }
  return found == frameworks.end() ? nullptr : &*found;
}

const Framework& UnknownFramework() {
  return Frameworks().back();
}

void ReadDeclared(YamlFields& fields, Framework& framework) {
  ReadChoice(fields, "attention", kAttentionKernels, framework.attention);
  ReadChoice(fields, "tensor_overlap", kTensorOverlaps, framework.tensor_overlap);
  ReadChoice(fields, "tensor_overlap_on", kTensorOverlaps, framework.tensor_overlap_on);
  ReadChoice(fields, "tensor_overlap_off", kTensorOverlaps, framework.tensor_overlap_off);
  ReadChoice(fields, "data_overlap", kDataOverlaps, framework.data_overlap);
  ReadChoice(fields, "reshard", kReshardNames, framework.reshard);
  ReadChoice(fields, "graphs", kCudaGraphs, framework.graphs);
  if (fields.Flag("uses_graphs", false)) {  // an earlier name
    framework.graphs = CudaGraphs::kStep;
  }
  ReadChoice(fields, "dispatch", kDispatches, framework.dispatch);
  framework.expert_nodes = fields.Count("expert_nodes", 0, framework.expert_nodes);
  ReadRecomputedParts(fields, framework.recompute_parts);
  framework.moment_bytes = fields.Count("moment_bytes", 1, framework.moment_bytes);
  framework.activation_input_bytes =
      fields.Count("activation_input_bytes", 0, framework.activation_input_bytes);
  for (const auto& [key, member] : kFlags) {
    framework.*member = fields.Flag(key, framework.*member);
  }
  for (const auto& [key, member] : kSizes) {
    framework.*member = fields.Size(key, 0, framework.*member);
  }
  framework.vocabulary_multiple =
      fields.Count("vocabulary_multiple", 1, framework.vocabulary_multiple);
  framework.most_chunks = fields.Count("most_chunks", 1, framework.most_chunks);
  framework.sharded_weight_calls =
      fields.Count("sharded_weight_calls", 0, framework.sharded_weight_calls);
}

void ReadHostCost(YamlFields& fields, Framework& framework) {
  const auto scalar =
      std::ranges::find(FittedScalars(), &Framework::launch_us, &FittedScalar::member);
  ReadScalar(fields, *scalar, framework);
}

Result<ScalarPopulation> ReadFrameworkFits(const std::string& yaml,
                                           std::vector<Framework>& frameworks) {
  ScalarPopulation population;
  const Status read = WithYaml("fits of frameworks", yaml, [&](const YAML::Node& root) -> Status {
    std::optional<Error> first_error;
    if (root["population"]) {
      population.noise = root["noise"].as<double>(0);
      YamlFields fields(root["population"], "population", first_error);
      std::size_t place = 0;
      for (const FittedScalar& scalar : FittedScalars()) {
        YamlFields of_scalar = fields.Map(scalar.key);
        population.mean.*scalar.member = of_scalar.Number("mean", scalar.least, 1);
        population.deviation[place++] = of_scalar.Number("deviation", 0, 0);
        of_scalar.RefuseOthers();
      }
      fields.RefuseOthers();
      for (Framework& framework : frameworks) {
        CopyScalars(population.mean, framework);
      }
    }
    const YAML::Node nodes = root["fits"];
    for (std::size_t i = 0; i < nodes.size() && !first_error; ++i) {
      YamlFields fields(nodes[i], fmt::format("fit {}", i + 1), first_error);
      const std::string name = fields.Text("framework");
      const auto found = std::ranges::find(frameworks, name, &Framework::name);
      if (found == frameworks.end()) {
        fields.Wrong("framework", "must be one of the catalogue of frameworks", name);
        break;
      }
      fields.Expect({"rows", "stacks", "teams", "error_before", "error_after"});  // for people
      ReadFitted(fields, *found);
      found->is_fitted = true;
      fields.RefuseOthers();
    }
    return first_error ? Status(tl::unexpected(*std::move(first_error))) : Status();
  });
  if (!read) {
    return tl::unexpected(read.error());
  }
  return population;
}

std::string ShippedFrameworkFits() {
  return kEmbeddedFrameworkFits;
}

const ScalarPopulation& Population() {
  static const ScalarPopulation population = [] {
    auto frameworks = ReadFrameworks(kEmbeddedFrameworks);
    auto read = ReadFrameworkFits(kEmbeddedFrameworkFits, *frameworks);
    ORRERY_CHECK(read.has_value(), read ? "" : read.error().message());
    return *std::move(read);
  }();
  return population;
}

Result<std::vector<Framework>> ReadFrameworks(const std::string& yaml) {
  return WithYaml("catalogue of frameworks", yaml, ReadAll);
}

}  // namespace orrery::workload
