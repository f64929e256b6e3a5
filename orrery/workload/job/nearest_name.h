#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/nearest_word.h"

namespace orrery::workload {

/// The name of the entry of a catalogue that is spelled most like `name`.
template <typename Entry>
[[nodiscard]] std::string NearestName(std::string_view name, const std::vector<Entry>& catalogue) {
  std::vector<std::string_view> names;
  for (const Entry& entry : catalogue) {
    names.emplace_back(entry.name);
  }
  return std::string(NearestWord(name, names));
}

}  // namespace orrery::workload
