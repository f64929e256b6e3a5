#include "orrery/workload/job/framework_yaml.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

#include "orrery/base/text.h"

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

constexpr std::array<Spelling<DataOverlap>, 2> kDataOverlaps{{
    {"after_backward", DataOverlap::kAfterBackward},
    {"buckets", DataOverlap::kBuckets},
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
    {"is_compiled", &Framework::is_compiled},
    {"spells_out_layers", &Framework::has_unfused_layers},
    {"copies_shards", &Framework::copies_shards},
    {"wraps_exchanges", &Framework::wraps_communication},
    {"prioritises_communication", &Framework::prioritises_communication},
    {"uses_graphs", &Framework::uses_graphs},
    {"gathers_in_forward", &Framework::gathers_in_forward},
    {"overlaps_pipeline_sends", &Framework::overlaps_pipeline_sends},
    {"cuts_experts", &Framework::cuts_experts},
    {"overlaps_experts", &Framework::overlaps_experts},
    {"waits_each_pipeline_message", &Framework::waits_each_pipeline_message},
    {"scales_bucket_with_ranks", &Framework::scales_bucket_with_ranks},
    {"splits_layers_by_work", &Framework::splits_layers_by_work},
});

constexpr std::array<std::pair<std::string_view, std::int64_t Framework::*>, 3> kSizes{{
    {"bucket_bytes", &Framework::bucket_bytes},
    {"first_bucket_bytes", &Framework::first_bucket_bytes},
    {"least_bucket_elements", &Framework::least_bucket_elements},
}};

constexpr std::array<std::string_view, 5> kOtherKeys{"attention", "tensor_overlap", "data_overlap",
                                                     "vocabulary_multiple", "most_chunks"};

bool IsDeclaredKey(std::string_view key) {
  const auto has_key = [key](const auto& entry) { return entry.first == key; };
  return std::ranges::any_of(kFlags, has_key) || std::ranges::any_of(kSizes, has_key) ||
         std::ranges::find(kOtherKeys, key) != kOtherKeys.end();
}

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
    if (!IsDeclaredKey(key)) {
      fields.Wrong("guessed", "must be a list of declared properties", key);
    }
  }
}

Framework ReadFramework(YamlFields fields) {
  Framework framework;
  framework.name = fields.Text("name");
  framework.match = fields.WordLists("match");
  framework.origin = fields.Text("origin");
  framework.scalars_of = fields.Text("scalars_of", std::string());
  ReadGuessed(fields, framework);
  ReadDeclared(fields, framework);
  ReadFitted(fields, framework);
  fields.RefuseOthers();
  return framework;
}

std::string PlaceOf(const YAML::Node& node, std::size_t index) {
  if (node.IsMap() && node["name"].IsDefined() && node["name"].IsScalar()) {
    return fmt::format("framework '{}'", node["name"].Scalar());
  }
  return fmt::format("framework {}", index + 1);
}

Result<std::vector<Framework>> ReadAll(const YAML::Node& root) {
  std::optional<Error> first_error;
  YamlFields top(root, "catalogue of frameworks", first_error);
  const YAML::Node nodes = top.Node("frameworks");
  top.RefuseOthers();
  std::vector<Framework> frameworks;
  std::set<std::string> names;
  for (std::size_t i = 0; nodes.IsSequence() && i < nodes.size() && !first_error; ++i) {
    const std::string place = PlaceOf(nodes[i], i);
    frameworks.push_back(ReadFramework(YamlFields(nodes[i], place, first_error)));
    if (!first_error && !names.insert(LowerCase(frameworks.back().name)).second) {
      first_error.emplace(Error::Kind::kInvalidInput, place + ": name is there twice");
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

void ReadDeclared(YamlFields& fields, Framework& framework) {
  ReadChoice(fields, "attention", kAttentionKernels, framework.attention);
  ReadChoice(fields, "tensor_overlap", kTensorOverlaps, framework.tensor_overlap);
  ReadChoice(fields, "data_overlap", kDataOverlaps, framework.data_overlap);
  for (const auto& [key, member] : kFlags) {
    framework.*member = fields.Flag(key, framework.*member);
  }
  for (const auto& [key, member] : kSizes) {
    framework.*member = fields.Size(key, 0, framework.*member);
  }
  framework.vocabulary_multiple =
      fields.Count("vocabulary_multiple", 1, framework.vocabulary_multiple);
  framework.most_chunks = fields.Count("most_chunks", 1, framework.most_chunks);
}

void ReadHostCost(YamlFields& fields, Framework& framework) {
  const auto scalar =
      std::ranges::find(FittedScalars(), &Framework::launch_us, &FittedScalar::member);
  ReadScalar(fields, *scalar, framework);
}

Status ReadFrameworkFits(const std::string& yaml, std::vector<Framework>& frameworks) {
  try {
    std::optional<Error> first_error;
    const YAML::Node nodes = YAML::Load(yaml)["fits"];
    for (std::size_t i = 0; i < nodes.size() && !first_error; ++i) {
      YamlFields fields(nodes[i], fmt::format("fit {}", i + 1), first_error);
      const std::string name = fields.Text("framework");
      const auto found = std::ranges::find(frameworks, name, &Framework::name);
      if (found == frameworks.end()) {
        fields.Wrong("framework", "must be one of the catalogue of frameworks", name);
        break;
      }
      // Where they come from is for people.
      (void)fields.Node("rows");
      (void)fields.Node("sources");
      (void)fields.Node("error_before");
      (void)fields.Node("error_after");
      ReadFitted(fields, *found);
      fields.RefuseOthers();
    }
    return first_error ? Status(tl::unexpected(*std::move(first_error))) : Status();
  } catch (const YAML::Exception& exception) {
    return Fail(Error::Kind::kInvalidInput, fmt::format("fits of frameworks: line {}: {}",
                                                        exception.mark.line + 1, exception.msg));
  }
}

Result<std::vector<Framework>> ReadFrameworks(const std::string& yaml) {
  try {
    return ReadAll(YAML::Load(yaml));
  } catch (const YAML::Exception& exception) {
    return Fail(Error::Kind::kInvalidInput, fmt::format("catalogue of frameworks: line {}: {}",
                                                        exception.mark.line + 1, exception.msg));
  }
}

}  // namespace orrery::workload
