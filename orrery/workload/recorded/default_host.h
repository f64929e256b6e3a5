#pragma once

#include "orrery/workload/recorded/host_model.h"

namespace orrery::workload {

/// The host model that is built into the program (data/host): for those who have no recordings of
/// their own machine.
[[nodiscard]] const HostModel& DefaultHost();

}  // namespace orrery::workload
