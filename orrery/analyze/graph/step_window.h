#pragma once

#include <cstdint>
#include <optional>

#include "orrery/analyze/interval_set.h"
#include "orrery/analyze/run_view.h"

namespace orrery::analyze {

/// The time of one step over all ranks.
struct StepWindow {
  Interval time;
  std::int64_t number = -1;  // -1: the whole recording
};

/// Returns the first selected step that all ranks with steps have: from the earliest begin to the
/// latest end of its markers and device windows. Without steps the whole recording; nothing when
/// the run is empty or no step is common.
[[nodiscard]] std::optional<StepWindow> FirstCommonStep(const RunView& run);

}  // namespace orrery::analyze
