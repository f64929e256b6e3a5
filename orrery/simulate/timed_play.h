#pragma once

#include "orrery/base/error.h"
#include "orrery/simulate/play.h"

namespace orrery::simulate {

/// Plays in order of time, with rates that change when the set of tasks on a GPU changes (see
/// Play, which calls it). `options.rates` must be there.
[[nodiscard]] Result<Performance> PlayInTime(const Cast& cast, CommunicationTimes& times,
                                             const PlayOptions& options);

}  // namespace orrery::simulate
