#include "orrery/workload/job/job_overrides.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

namespace orrery::workload {
namespace {

Status Refuse(std::string message) {
  return Fail(Error::Kind::kInvalidInput, std::move(message));
}

std::vector<std::string> PathOf(std::string_view text) {
  std::vector<std::string> path;
  while (true) {
    const std::size_t dot = text.find('.');
    path.emplace_back(text.substr(0, dot));
    if (dot == std::string_view::npos) {
      return path;
    }
    text.remove_prefix(dot + 1);
  }
}

// What a lone name under a key of the job means in the mapping that takes its place.
std::string_view KeyOfName(std::string_view key) {
  return key == "model" ? "preset" : "name";
}

Status Apply(const YAML::Node& root, const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::vector<std::string> path = PathOf(text.substr(0, equals));
  if (equals == std::string::npos || std::ranges::any_of(path, &std::string::empty)) {
    return Refuse(fmt::format("'{}' is no override: write it as plan.tp=4", text));
  }
  YAML::Node parent;
  parent.reset(root);
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    YAML::Node child = parent[path[i]];
    if (child.IsDefined() && child.IsScalar()) {
      YAML::Node map;
      map[std::string(KeyOfName(path[i]))] = child.Scalar();
      parent[path[i]] = map;
      child.reset(map);
    } else if (child.IsDefined() && !child.IsMap() && !child.IsNull()) {
      return Refuse(fmt::format("'{}': {} is a list, which has no such part", text, path[i]));
    }
    parent.reset(child);
  }
  parent[path.back()] = YAML::Load(text.substr(equals + 1));
  return {};
}

}  // namespace

Status ApplyOverrides(YAML::Node root, std::span<const std::string> overrides) {
  for (const std::string& text : overrides) {
    try {
      ORRERY_TRY_STATUS(Apply(root, text));
    } catch (const YAML::Exception& exception) {
      return Refuse(fmt::format("'{}' cannot be read: {}", text, exception.msg));
    }
  }
  return {};
}

}  // namespace orrery::workload
