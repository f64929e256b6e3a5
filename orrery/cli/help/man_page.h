#pragma once

#include <string>
#include <string_view>

#include "orrery/cli/description.h"

namespace orrery::cli {

/// The manual page of a verb in roff, from what --help prints. `path` is like "fit-kernels".
[[nodiscard]] std::string ManPage(const VerbDescription& verb, std::string_view path);

}  // namespace orrery::cli
