#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "orrery/analyze/run_view.h"

namespace orrery::analyze {

struct RankSteps {
  std::int32_t rank = 0;
  std::vector<double> seconds = {};  // of each selected marker
};

/// How long a step takes: the markers of the selected steps on the host.
struct StepTime {
  std::optional<double> seconds = {};  // mean over markers, then over ranks
  bool is_estimated = false;           // from the length of the recording and the card
  std::vector<RankSteps> ranks = {};
};

[[nodiscard]] StepTime MeasureStepTime(const RunView& run);

/// Returns the time between the first begin and the last end of device activities over all ranks;
/// of host events where nothing ran on a device.
[[nodiscard]] Interval RecordedTime(const RunView& run, bool& is_device_time);

}  // namespace orrery::analyze
