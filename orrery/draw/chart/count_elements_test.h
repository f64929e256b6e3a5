#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace orrery::draw {

/// Returns how often `part` stands in a picture; "<rect" counts rectangles. For tests.
inline std::size_t CountOf(std::string_view part, std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos;
       at = text.find(part, at + part.size())) {
    ++count;
  }
  return count;
}

/// Returns how many elements a picture has.
inline std::size_t CountElements(std::string_view svg) {
  return CountOf("<", svg) - CountOf("</", svg);
}

}  // namespace orrery::draw
