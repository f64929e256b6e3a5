#pragma once

#include <optional>
#include <string_view>

namespace orrery::analyze::ccl_bench {

// Arguments that have no column of their own lie in `extra` as the inside of a JSON object.

/// Returns the text of a field: strings without their quotes, all else as written.
[[nodiscard]] std::optional<std::string_view> JsonField(std::string_view fields,
                                                        std::string_view key);

/// Returns a number, also one that is written as a string.
[[nodiscard]] std::optional<double> JsonNumber(std::string_view fields, std::string_view key);

}  // namespace orrery::analyze::ccl_bench
