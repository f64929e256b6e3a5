#pragma once

#include <string_view>

#include "orrery/api/export.h"

namespace orrery::api {

/// "0.2.0".
[[nodiscard]] ORRERY_API std::string_view Version();

/// A hash of the code and the data that answers come from: the same in all front ends of a build,
/// another one where an answer may be another one.
[[nodiscard]] ORRERY_API std::string_view BuildId();

}  // namespace orrery::api
