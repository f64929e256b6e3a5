#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "orrery/analyze/link_counters.h"
#include "orrery/analyze/link_summary.h"
#include "orrery/analyze/run_view.h"
#include "orrery/base/columns.h"

namespace orrery::analyze {

/// A kernel that ran during an interval of the link counters.
struct KernelInPeak {
  RowId activity = kNoRow;
  std::int64_t overlap_ns = 0;
};

/// One of the intervals with the highest rates and what ran during it.
struct PeakWithKernels {
  TrafficPeak peak;
  const DeviceView* device = nullptr;
  std::int64_t communication_ns = 0;       // of the interval, covered by communication kernels
  std::vector<KernelInPeak> kernels = {};  // longest overlap first (ties: the earlier)
};

/// The highest peaks of a GPU, or why they are not available.
struct PeakList {
  std::vector<PeakWithKernels> peaks;
  std::string reason = {};  // follows "n/a: "
};

/// Finds the `count` intervals with the highest rates of a GPU and the kernels that overlap them;
/// with `options.nccl_only` communication kernels only. The peaks point into `traffic`. Costs a
/// pass over the device's kernels for each interval.
[[nodiscard]] PeakList FindPeakKernels(const RunView& run, const LinkTraffic& traffic,
                                       std::int32_t gpu, std::size_t count);

}  // namespace orrery::analyze
