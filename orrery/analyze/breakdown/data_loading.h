#pragma once

#include <cstdint>
#include <vector>

#include "orrery/analyze/run_view.h"

namespace orrery::analyze {

/// The time a rank spends on data loading, over all recorded steps, or over those that the user
/// selected. A loader that prefetches makes some steps wait and others not, so a single step is not
/// representative.
struct DataLoading {
  std::int32_t rank = 0;
  std::int64_t num_steps = 0;   // 0: the whole recording
  std::int64_t total_ns = 0;    // of the steps
  std::int64_t loading_ns = 0;  // the host waits for the next batch
  std::int64_t idle_ns = 0;     // of that, all devices of the rank do nothing
};

/// Of the chosen ranks, in order of rank; without those that record no call of a loader.
[[nodiscard]] std::vector<DataLoading> DataLoadingOf(const RunView& run);

}  // namespace orrery::analyze
