#pragma once

#include <string>

namespace orrery::workload {

/// data/workload/framework_fits.yaml as the program was built with it, for those who read other
/// sections of it than the scalars.
[[nodiscard]] std::string ShippedFrameworkFits();

}  // namespace orrery::workload
