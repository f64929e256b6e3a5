#pragma once

#include <string_view>

namespace orrery::capture {

/// Whether calls of this name are always recorded: those that begin work on a device or change its
/// memory. They say on which thread and when, in the host's order, work was begun; CUPTI's records
/// of the work do not.
[[nodiscard]] bool IsWantedCall(std::string_view name);

}  // namespace orrery::capture
