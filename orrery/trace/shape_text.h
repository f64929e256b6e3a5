#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::trace {

// Shapes, types and values of operators stay JSON text in a trace; these read what is needed.

/// The elements of a JSON array, each as its text without outer blanks; empty for other text.
[[nodiscard]] std::vector<std::string_view> ArrayItems(std::string_view array);

/// Returns the text without its quotes; text without quotes as it is.
[[nodiscard]] std::string_view Unquoted(std::string_view text);

/// The integers of "[4, -1]"; nothing when an item is no integer.
[[nodiscard]] std::optional<std::vector<std::int64_t>> IntegerItems(std::string_view array);

/// The number of elements of a tensor ("[4, 8]": 32) or of a list of tensors ("[[4], [8]]": 12).
/// Nothing for "[]", which stands for "no tensor" as well as for a scalar.
[[nodiscard]] std::optional<std::int64_t> NumElements(std::string_view shape);

}  // namespace orrery::trace
