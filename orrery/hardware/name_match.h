#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace orrery::hardware {

/// Words of the names that others use, lower case: each list is one way to be called.
using MatchWords = std::vector<std::vector<std::string>>;

/// Says whether all words of one of the lists occur in `name`, whatever its case. A word stands
/// alone: "t4" is not found inside "gt400".
[[nodiscard]] bool IsCalled(std::string_view name, const MatchWords& match);

}  // namespace orrery::hardware
