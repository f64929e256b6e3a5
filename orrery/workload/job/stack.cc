#include "orrery/workload/job/stack.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "orrery/base/check.h"
#include "orrery/base/document/yaml_fields.h"
#include "orrery/base/error.h"
#include "orrery/hardware/gpu.h"
#include "orrery/workload/embedded_stacks.h"
#include "orrery/workload/input.h"

namespace orrery::workload {
namespace {

Result<StackFile> ReadAll(const YAML::Node& root) {
  std::optional<Error> first_error;
  YamlFields top(root, "stacks", first_error);
  StackFile file;
  for (YamlFields& fields : top.Maps("stacks")) {
    file.stacks.push_back({fields.Text("name"), fields.WordLists("match"), fields.Text("reason")});
    fields.RefuseOthers();
  }
  for (YamlFields& fields : top.Maps("collectives")) {
    file.collectives.push_back({fields.Text("source"), fields.Text("measured_by")});
    fields.RefuseOthers();
  }
  top.RefuseOthers();
  if (first_error) {
    return tl::unexpected(*std::move(first_error));
  }
  return file;
}

}  // namespace

Result<StackFile> ReadStacks(const std::string& yaml) {
  return WithYaml("stacks", yaml, ReadAll);
}

const StackFile& Stacks() {
  static const StackFile stacks = [] {
    auto read = ReadStacks(kEmbeddedStacks);
    ORRERY_CHECK(read.has_value(), read ? "" : read.error().message());
    return *std::move(read);
  }();
  return stacks;
}

std::vector<std::string> CollectivesMeasuredBy(std::string_view stack, std::string_view team) {
  std::vector<std::string> sources;
  for (const CollectiveSource& one : Stacks().collectives) {
    if (one.measured_by == stack || one.measured_by == team) {
      sources.push_back(one.source);
    }
  }
  return sources;
}

std::string StackName(std::string_view stated, std::string_view framework, std::string_view team) {
  if (!stated.empty()) {
    return std::string(stated);
  }
  const std::vector<Stack>& stacks = Stacks().stacks;
  const auto found = std::ranges::find_if(
      stacks, [&](const Stack& stack) { return hardware::IsCalled(framework, stack.match); });
  return found == stacks.end() ? std::string(team) : found->name;
}

}  // namespace orrery::workload
