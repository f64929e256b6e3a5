#pragma once

#include <string>

#include "orrery/learn/interval.h"

namespace orrery::api {

/// Returns "12.34 us" or "1.234 ms".
[[nodiscard]] std::string TimeText(double seconds);
[[nodiscard]] std::string TimeText(double seconds, const learn::TimeInterval& interval);

}  // namespace orrery::api
