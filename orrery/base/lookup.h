#pragma once

#include <optional>

namespace orrery {

/// Returns the value of `key` in a map, or `otherwise`.
template <typename Map, typename Key, typename Value = typename Map::mapped_type>
[[nodiscard]] Value FindOr(const Map& map, const Key& key, const Value& otherwise = {}) {
  const auto found = map.find(key);
  return found == map.end() ? otherwise : Value(found->second);
}

/// Returns the value of `key` in a map; a new one is what `make()` returns.
template <typename Map, typename Key, typename Make>
typename Map::mapped_type FindOrAdd(Map& map, const Key& key, Make&& make) {
  const auto found = map.find(key);
  return found != map.end() ? found->second : map.emplace(key, make()).first->second;
}

/// Returns the second of the first pair in `table` whose first is `key`.
template <typename Table, typename Key>
[[nodiscard]] constexpr auto LookUp(const Table& table, const Key& key)
    -> std::optional<typename Table::value_type::second_type> {
  for (const auto& [name, value] : table) {
    if (name == key) {
      return value;
    }
  }
  return std::nullopt;
}

}  // namespace orrery
