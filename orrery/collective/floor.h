#pragma once

#include "orrery/collective/fabric.h"
#include "orrery/collective/request.h"

namespace orrery::collective {

/// The time below which no algorithm can be: what the links of a GPU and the NICs of a node, as
/// their vendors state them, have to carry at least, without any latency.
[[nodiscard]] double FloorSeconds(const Fabric& fabric, const Request& request);

}  // namespace orrery::collective
