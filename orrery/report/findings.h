#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "orrery/report/run_report.h"

namespace orrery::report {

/// Returns the time of one device.
[[nodiscard]] std::int64_t TotalNs(const RankTime& rank);

/// Returns the share of each part in the time of all devices, the mean over devices (0 to 1).
[[nodiscard]] std::array<double, kNumParts> MeanShares(const RunReport& report);

/// Says in sentences what the numbers of a report mean, the largest share of the time first.
[[nodiscard]] std::vector<Document::Finding> FindingsOf(const RunReport& report);

}  // namespace orrery::report
