#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "orrery/base/document/yaml_fields.h"

namespace orrery::workload {

/// The first spelling of a value; empty: it has none.
template <typename Value, std::size_t kCount>
[[nodiscard]] constexpr std::string_view WordOf(const std::array<Spelling<Value>, kCount>& words,
                                                Value value) {
  const auto found = std::ranges::find(words, value, &Spelling<Value>::second);
  return found == words.end() ? std::string_view() : found->first;
}

}  // namespace orrery::workload
