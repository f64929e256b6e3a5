#pragma once

#include <string>
#include <string_view>

#include "orrery/base/error.h"

namespace orrery {

/// Reads a time with its unit as seconds: "30s", "8m" (or "8min"), "1.5h", "20d". A bare number is
/// rejected, because its unit would be a guess.
[[nodiscard]] Result<double> ParseSeconds(std::string_view text);

/// Returns seconds as people say them, with three digits: "45 s", "8 min", "1.5 h", "20 d".
[[nodiscard]] std::string SecondsText(double seconds);

}  // namespace orrery
