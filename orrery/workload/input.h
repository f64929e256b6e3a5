#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

#include "orrery/base/error.h"
#include "orrery/base/text/nearest_word.h"

/// Inputs from outside: what is wrong with them, and files.
namespace orrery::workload {

/// Fails because an input is invalid.
template <typename... Arguments>
[[nodiscard]] tl::unexpected<Error> Refuse(fmt::format_string<Arguments...> text,
                                           Arguments&&... arguments) {
  return Fail(Error::Kind::kInvalidInput, fmt::format(text, std::forward<Arguments>(arguments)...));
}

/// Fails because an input is understood but not modelled.
template <typename... Arguments>
[[nodiscard]] tl::unexpected<Error> Unsupported(fmt::format_string<Arguments...> text,
                                                Arguments&&... arguments) {
  return Fail(Error::Kind::kUnsupported, fmt::format(text, std::forward<Arguments>(arguments)...));
}

/// The name of the catalogue entry that is spelled most like `name`.
template <typename Entry>
[[nodiscard]] std::string NearestName(std::string_view name, const std::vector<Entry>& catalogue) {
  return std::string(NearestWord(name, NamesOf(catalogue)));
}

/// Calls `read(root)` for a YAML text; errors of the parser begin with `place` and name the line.
template <typename Read>
[[nodiscard]] auto WithYaml(std::string_view place, const std::string& yaml, const Read& read)
    -> decltype(read(YAML::Node())) {
  try {
    return read(YAML::Load(yaml));
  } catch (const YAML::Exception& exception) {
    return Refuse("{}: line {}: {}", place, exception.mark.line + 1, exception.msg);
  }
}

/// The beginning of errors in an entry of a catalogue: "framework 'nemo'", or its number.
[[nodiscard]] inline std::string EntryPlace(std::string_view what, const YAML::Node& node,
                                            std::size_t index) {
  const bool has_name = node.IsMap() && node["name"].IsDefined() && node["name"].IsScalar();
  return has_name ? fmt::format("{} '{}'", what, node["name"].Scalar())
                  : fmt::format("{} {}", what, index + 1);
}

/// Reads a whole file, decompressed. Damaged compression is an error: half of a workload would be
/// another workload.
[[nodiscard]] Result<std::string> ReadUnpackedFile(const std::string& path);

}  // namespace orrery::workload
