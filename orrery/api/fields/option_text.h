#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/units.h"

namespace orrery::api {

/// Returns numbers as "0–3, 8": for messages that say which ranks and steps there are.
[[nodiscard]] std::string RangesText(std::vector<std::int64_t> numbers);

/// Reads the text of --with, "a=1,b=2.5", over the settings that a model knows. An error lists
/// them.
using NumberSettings = std::map<std::string, double, std::less<>>;
[[nodiscard]] Result<NumberSettings> ReadNumberSettings(std::string_view text,
                                                        NumberSettings settings);

/// Reads a rate above zero, "200GB/s", that an option gives.
[[nodiscard]] Result<Bandwidth> RateOf(std::string_view option, std::string_view text);

}  // namespace orrery::api
