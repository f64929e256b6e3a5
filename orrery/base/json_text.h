#pragma once

#include <string>
#include <string_view>

namespace orrery {

/// Tells whether `text` is valid between the quotes of a JSON string as it is: UTF-8 without
/// quotes, backslashes and control characters.
[[nodiscard]] bool IsPlainJsonText(std::string_view text);

/// Escapes text for a JSON string, without the quotes. Bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string EscapeJson(std::string_view text);

/// Returns the text as a JSON string, quotes included.
[[nodiscard]] std::string QuoteJson(std::string_view text);

}  // namespace orrery
