#pragma once

#include <algorithm>
#include <string_view>

namespace orrery::ingest {

/// Returns the text behind `key`, without blanks in front; empty if the key is absent.
[[nodiscard]] inline std::string_view TextBehind(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) {
    return {};
  }
  const std::string_view rest = text.substr(at + key.size());
  return rest.substr(std::min(rest.find_first_not_of(" \t"), rest.size()));
}

}  // namespace orrery::ingest
