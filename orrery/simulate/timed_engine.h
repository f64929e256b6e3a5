#pragma once

#include "orrery/base/error.h"
#include "orrery/simulate/engine.h"

namespace orrery::simulate {

/// Simulates in order of time, with rates that change when the set of tasks on a GPU changes (see
/// Simulate, which calls it). `options.rates` must be there.
[[nodiscard]] Result<Timeline> SimulateInTimeOrder(const RankClasses& rank_classes,
                                                   CommunicationTimes& times,
                                                   const EngineOptions& options);

}  // namespace orrery::simulate
