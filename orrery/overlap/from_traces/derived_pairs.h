#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/table.h"
#include "orrery/overlap/from_traces/trace_pairs.h"
#include "orrery/overlap/nsight_compute.h"

namespace orrery::overlap::from_traces {

/// The matched kernels of one rank.
struct JoinedRank {
  std::int32_t rank = 0;
  RunKernels alone;
  RunKernels together;
  Join join;
  TracePairs derived;
};

/// Kernels of one name with communication, over the accepted pairs.
struct KernelMedian {
  std::string kernel;
  std::size_t pairs = 0;
  double alone_us = 0;     // sum
  double together_us = 0;  // sum
  double overlap_us = 0;   // sum
  double slowdown = 0;     // median of s*, by overlapped time
};

/// Joins one rank; `by` as for JoinKernels.
[[nodiscard]] Result<JoinedRank> JoinRank(std::int32_t rank, RunKernels alone, RunKernels together,
                                          JoinBy by);

/// Pairs as a table (docs/formats/overlap-traces.md); counters are joined by function name and
/// launch, then by function name if all its launches are equal.
[[nodiscard]] Table PairTableOf(const std::vector<JoinedRank>& ranks,
                                const CountedKernels* counters);

/// Kernels of only one run.
[[nodiscard]] Table UnmatchedTable(const std::vector<JoinedRank>& ranks);

/// Communication kernels of the runs with communication.
[[nodiscard]] Table CommunicationTable(const std::vector<JoinedRank>& ranks);

/// By function name, in order of decreasing time with communication.
[[nodiscard]] std::vector<KernelMedian> MediansOf(const std::vector<JoinedRank>& ranks);

[[nodiscard]] Table MedianTable(const std::vector<KernelMedian>& medians);

}  // namespace orrery::overlap::from_traces
