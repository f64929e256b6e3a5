#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace orrery {

/// Fewest letters to insert, remove or exchange until one word is the other (Levenshtein). Costs
/// the product of the lengths.
[[nodiscard]] std::size_t EditDistance(std::string_view a, std::string_view b);

/// Finds the known word that is nearest to `word`, the first of several, whatever the case of
/// letters. One that begins with `word` is nearer than one with two other letters. Empty when there
/// is none.
[[nodiscard]] std::string_view NearestWord(std::string_view word,
                                           std::span<const std::string_view> known);

/// Returns "; did you mean 'simulate'?", or nothing where no known word begins with `word` or is at
/// most a third of its letters away, one at least and three at most.
[[nodiscard]] std::string DidYouMean(std::string_view word,
                                     std::span<const std::string_view> known);

/// The names of the entries of a catalogue.
template <typename Entry>
[[nodiscard]] std::vector<std::string_view> NamesOf(const std::vector<Entry>& catalogue) {
  std::vector<std::string_view> names;
  for (const Entry& entry : catalogue) {
    names.emplace_back(entry.name);
  }
  return names;
}

}  // namespace orrery
