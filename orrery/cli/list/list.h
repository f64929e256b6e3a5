#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace orrery::cli {

/// The lists of `orrery list`.
[[nodiscard]] std::vector<std::string> ListedThings();

/// The names in one of the lists, for completions; empty for an unknown list.
[[nodiscard]] std::vector<std::string> ListedNames(std::string_view what);

}  // namespace orrery::cli
