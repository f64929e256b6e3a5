#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace orrery::cli {

/// Breaks the lines of a help text that are wider than `width`. What stands in the right column of
/// a list stays in that column; a paragraph, or an entry of several lines, is filled anew. Whatever
/// fits stays as it was written.
[[nodiscard]] std::string WrappedHelp(std::string_view help, std::size_t width);

}  // namespace orrery::cli
