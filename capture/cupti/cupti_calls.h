#pragma once

#include <memory>

#include "capture/cupti/activity_source.h"

namespace orrery::capture {

/// CUPTI of the process; there can be one at a time.
[[nodiscard]] std::unique_ptr<ActivitySource> MakeCuptiSource();

}  // namespace orrery::capture
