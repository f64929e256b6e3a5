#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "orrery/base/interval_set.h"
#include "orrery/analyze/run_view.h"

namespace orrery::analyze {

/// Where a step ends on one rank. The host runs ahead of the device, so what it does after its
/// marker belongs to the next step while the device still works on this one.
struct StepEnd {
  std::int64_t host_ns = 0;
  std::int64_t device_ns = 0;
};

/// The time of one step over all ranks.
struct StepWindow {
  Interval time;             // from the earliest begin to the latest end of all ranks
  std::int64_t number = -1;  // -1: the whole recording
  std::vector<StepEnd> end_of_rank = {};
};

/// Returns the first selected step that all ranks with steps have, by its markers and device
/// windows. Without steps the whole recording; nothing when the run is empty or no step is common.
[[nodiscard]] std::optional<StepWindow> FirstCommonStep(const RunView& run);

}  // namespace orrery::analyze
