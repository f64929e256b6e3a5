#pragma once

#include <string>

#include "orrery/base/error.h"
#include "orrery/base/units.h"
#include "orrery/collective/request.h"

namespace orrery::cli {

/// Simulates another simulator's model ("astra-sim", "simai") with settings "npus=8,bandwidth=50".
/// All-gather of ASTRA-sim is asked with the share that every NPU gives, as its workloads do.
[[nodiscard]] Result<Duration> EmulatedCollectiveTime(const std::string& model, const std::string& settings,
                                          const collective::Request& request);

}  // namespace orrery::cli
