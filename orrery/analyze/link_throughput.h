#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "orrery/analyze/link_counters.h"

namespace orrery::analyze {

/// A stretch of a series, for drawing.
struct ThroughputPoint {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::optional<double> sent_bytes_per_second = {};
  std::optional<double> received_bytes_per_second = {};
};

/// Returns the traffic of a GPU in at most `max_points` stretches of equally many polling rounds;
/// nothing where a direction was not observed.
[[nodiscard]] std::vector<ThroughputPoint> ThroughputOverTime(const GpuTraffic& gpu,
                                                              std::size_t max_points);

}  // namespace orrery::analyze
