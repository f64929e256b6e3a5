#include "orrery/base/text/nearest_word.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/text/text.h"

namespace orrery {

std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);  // distances of a's beginning to beginnings of b
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t exchanged = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({exchanged, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

std::string_view NearestWord(std::string_view word, std::span<const std::string_view> known) {
  const std::string lower = LowerCase(word);
  const auto distance_to = [&](std::string_view candidate) {
    const std::string other = LowerCase(candidate);
    const std::size_t distance = EditDistance(lower, other);
    return std::pair(distance > 1 && !other.starts_with(lower), distance);
  };
  std::string_view nearest;
  std::pair least(true, std::numeric_limits<std::size_t>::max());
  for (const std::string_view candidate : known) {
    if (const auto distance = distance_to(candidate); distance < least) {
      least = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

std::string DidYouMean(std::string_view word, std::span<const std::string_view> known) {
  const std::string lower = LowerCase(word);
  const std::string_view nearest = NearestWord(word, known);
  const std::size_t few = std::clamp<std::size_t>(word.size() / 3, 1, 3);
  const bool is_like = !nearest.empty() && (LowerCase(nearest).starts_with(lower) ||
                                            EditDistance(lower, LowerCase(nearest)) <= few);
  return is_like ? "; did you mean '" + std::string(nearest) + "'?" : "";
}

}  // namespace orrery
