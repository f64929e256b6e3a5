#pragma once

#include <string>
#include <string_view>

namespace orrery::report {

/// Returns a whole page that needs nothing else; `body` is HTML.
[[nodiscard]] std::string Page(std::string_view title, std::string_view body);

/// Styles of the page, light and dark.
[[nodiscard]] std::string PageStyle();

/// The definition, in SVG, of the hatching that fills the style "waiting"; once in each page or
/// picture.
[[nodiscard]] std::string_view HatchPattern();

}  // namespace orrery::report
