#pragma once

#include <array>
#include <vector>

#include "orrery/base/interval_set.h"
#include "orrery/analyze/run_view.h"
#include "orrery/report/run_report.h"

namespace orrery::report {

/// The selected time of one device, cut into parts that exclude each other, in the order of Part;
/// what is in none of them is idle. Compute comes first, then transfer, waiting and memory.
/// Communication without a sound match counts as transfer: it may contain waiting.
using DeviceParts = std::array<IntervalSet, kNumParts - 1>;

/// Returns the parts of each of run.devices. Linear in the events; devices in parallel.
[[nodiscard]] std::vector<DeviceParts> PartsOfDevices(const analyze::RunView& run);

/// Returns "rank 3", or "rank 3, GPU 1" where a rank has several devices.
[[nodiscard]] std::string DeviceLabel(const analyze::RunView& run, std::size_t device);

/// Returns how the devices spent the selected time.
[[nodiscard]] std::vector<RankTime> RankTimes(const analyze::RunView& run,
                                              const std::vector<DeviceParts>& parts);

/// Returns the first selected step that the first device has, on all devices that have it.
[[nodiscard]] std::optional<StepTimeline> FirstStep(const analyze::RunView& run,
                                                    const std::vector<DeviceParts>& parts);

}  // namespace orrery::report
