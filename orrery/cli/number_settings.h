#pragma once

#include <map>
#include <string>
#include <string_view>

#include "orrery/base/error.h"

namespace orrery::cli {

/// Numbers by name.
using NumberSettings = std::map<std::string, double, std::less<>>;

/// Reads the text of --with, "a=1,b=2.5", over the settings that a model knows. An error lists
/// them.
[[nodiscard]] Result<NumberSettings> ReadNumberSettings(std::string_view text,
                                                        NumberSettings settings);

}  // namespace orrery::cli
