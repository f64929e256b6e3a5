#pragma once

#include <cmath>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "orrery/base/error.h"

/// Values of a YAML document with errors that name their line.
namespace orrery::network {

/// "cluster.yaml: line 3: …".
[[nodiscard]] inline tl::unexpected<Error> FailAtLine(std::string_view file, int line,
                                                      std::string_view what) {
  return Fail(Error::Kind::kInvalidInput, fmt::format("{}: line {}: {}", file, line, what));
}

[[nodiscard]] inline int LineOf(const YAML::Node& node) {
  return node.Mark().line + 1;
}

/// Parses a document, or says in which line it breaks.
[[nodiscard]] Result<YAML::Node> ParseYaml(std::string_view text, std::string_view file);

/// Reads a value that a map must have.
[[nodiscard]] Result<std::string> YamlText(const YAML::Node& map, const char* key,
                                           std::string_view file);

/// Reads a truth value; false when the map has none.
[[nodiscard]] Result<bool> YamlFlag(const YAML::Node& map, const char* key, std::string_view file);

/// Fails when a map has a key that is not in the list: a slip would go unnoticed.
[[nodiscard]] Status CheckYamlKeys(const YAML::Node& map, std::span<const std::string_view> known,
                                   std::string_view file);

/// Reads a number that is at least 0, or above it.
[[nodiscard]] Result<double> YamlNumber(const YAML::Node& value, std::string_view name,
                                        bool may_be_zero, std::string_view file);

}  // namespace orrery::network
