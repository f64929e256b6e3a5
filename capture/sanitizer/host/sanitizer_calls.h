#pragma once

#include <memory>

#include "capture/sanitizer/host/session.h"
#include "capture/sanitizer/host/vendor_calls.h"

namespace orrery::capture::sanitizer {

/// The vendor's library.
[[nodiscard]] std::unique_ptr<VendorCalls> SanitizerCalls();

/// Lets the library call `session` back from now on. Both stay until the process ends.
[[nodiscard]] CallResult Subscribe(Session& session);

/// What the driver calls itself; empty where that cannot be read.
[[nodiscard]] std::string DriverVersion();

/// Of the toolkit that this was built with.
[[nodiscard]] std::string ToolkitVersion();

}  // namespace orrery::capture::sanitizer
