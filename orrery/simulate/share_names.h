#pragma once

#include <string>

#include "orrery/simulate/breakdown.h"

namespace orrery::simulate {

/// A share for programs: "compute.products", "exposed.tp", "wait.dp", "bubble", "host",
/// "optimizer".
[[nodiscard]] std::string ShareKey(const TimeShare& share);

/// A share for people: "products", "tp communication", "waiting in dp", "bubble", …
[[nodiscard]] std::string ShareText(const TimeShare& share);

}  // namespace orrery::simulate
