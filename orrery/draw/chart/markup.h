#pragma once

#include <string>
#include <string_view>

namespace orrery::draw {

/// Returns `text` for HTML and SVG, in content and in quoted attributes: the five characters that
/// mean something are escaped, control characters and bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string EscapeMarkup(std::string_view text);

}  // namespace orrery::draw
