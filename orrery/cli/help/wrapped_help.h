#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace orrery::cli {

/// Breaks the lines of a help text that are wider than `width`. The right column of a list stays in
/// that column; a paragraph, or an entry of several lines, is wrapped again. Lines that fit stay as
/// they were written.
[[nodiscard]] std::string WrappedHelp(std::string_view help, std::size_t width);

}  // namespace orrery::cli
