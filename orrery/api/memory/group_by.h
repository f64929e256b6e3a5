#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <type_traits>
#include <vector>

namespace orrery::api {

/// Returns the items that have one key together, in the order of the first of each.
template <typename Item, typename Key>
[[nodiscard]] std::vector<std::vector<const Item*>> GroupBy(const std::vector<Item>& items,
                                                            Key&& key_of) {
  std::vector<std::vector<const Item*>> groups;
  std::map<std::decay_t<std::invoke_result_t<Key&, const Item&>>, std::size_t> place_of;
  for (const Item& item : items) {
    const auto [place, is_new] = place_of.try_emplace(std::invoke(key_of, item), groups.size());
    if (is_new) {
      groups.emplace_back();
    }
    groups[place->second].push_back(&item);
  }
  return groups;
}

}  // namespace orrery::api
