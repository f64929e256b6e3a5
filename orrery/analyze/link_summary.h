#pragma once

#include <cstddef>
#include <vector>

#include "orrery/analyze/link_counters.h"
#include "orrery/analyze/metric.h"
#include "orrery/base/value.h"

namespace orrery::analyze {

// The numbers of NVLink traffic. Where no direction is chosen, the larger one counts.

/// An interval of a series.
struct TrafficPeak {
  const GpuTraffic* gpu = nullptr;
  const LinkSeries* series = nullptr;
  const LinkInterval* interval = nullptr;
};

/// Returns the chosen direction, or both, sent first.
[[nodiscard]] std::vector<LinkDirection> ChosenDirections(const AnalyzeOptions& options);

/// Returns the intervals with the highest rates of one GPU, highest first (ties: the earlier), at
/// most `count`, all of the direction that holds the highest.
[[nodiscard]] std::vector<TrafficPeak> HighestIntervals(const GpuTraffic& gpu,
                                                        const AnalyzeOptions& options,
                                                        std::size_t count);

/// The largest rate of any GPU, in GB/s; detail: when, how long, how many bytes, by link.
[[nodiscard]] MetricResult MaxThroughput(const LinkTraffic& traffic, const AnalyzeOptions& options);

/// Bytes over observed time of each GPU, the mean over GPUs, in GB/s; detail: both directions.
[[nodiscard]] MetricResult AverageThroughput(const LinkTraffic& traffic,
                                             const AnalyzeOptions& options);

/// Bytes of all GPUs: of the chosen direction, else half of both, as what one GPU sends another
/// receives.
[[nodiscard]] MetricResult TotalCommunication(const LinkTraffic& traffic,
                                              const AnalyzeOptions& options);

}  // namespace orrery::analyze
