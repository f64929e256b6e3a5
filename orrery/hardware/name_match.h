#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace orrery::hardware {

/// Words of alternative names, lower case: a name matches a list if it contains all its words.
using MatchWords = std::vector<std::vector<std::string>>;

/// Returns whether all words of one of the lists occur in `name`, in any case. A word stands
/// alone: "t4" is not found inside "gt400".
[[nodiscard]] bool IsCalled(std::string_view name, const MatchWords& match);

}  // namespace orrery::hardware
