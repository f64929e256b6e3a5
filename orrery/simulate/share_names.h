#pragma once

#include <string>
#include <vector>

#include "orrery/simulate/breakdown.h"

namespace orrery::simulate {

/// A share for programs: "compute.products", "exposed.tp", "wait.dp", "bubble", "host", "idle",
/// "optimizer".
[[nodiscard]] std::string ShareKey(const TimeShare& share);

/// A share for people: "products", "tp communication", "waiting in dp", "bubble", …
[[nodiscard]] std::string ShareText(const TimeShare& share);

/// The shares by kind, those of a kind largest first.
[[nodiscard]] std::vector<TimeShare> LargestFirst(const Breakdown& breakdown);

}  // namespace orrery::simulate
