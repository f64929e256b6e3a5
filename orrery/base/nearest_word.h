#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace orrery {

/// Fewest letters to insert, remove or exchange until one word is the other (Levenshtein). Costs
/// the product of the lengths.
[[nodiscard]] std::size_t EditDistance(std::string_view a, std::string_view b);

/// Finds the known word that is nearest to `word`, the first of several, whatever the case of
/// letters. Empty when there is none.
[[nodiscard]] std::string_view NearestWord(std::string_view word,
                                           std::span<const std::string_view> known);

}  // namespace orrery
