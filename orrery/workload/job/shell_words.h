#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"

namespace orrery::workload {

/// Cuts a command line into words as a shell does: blanks separate, quotes keep together, a
/// backslash takes the next character as it is and joins lines, # begins a comment. Nothing is
/// expanded. Fails when a quote is not closed.
[[nodiscard]] Result<std::vector<std::string>> ShellWords(std::string_view text);

}  // namespace orrery::workload
