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

/// One rank, joined.
struct JoinedRank {
  std::int32_t rank = 0;
  RunKernels alone;
  RunKernels together;
  Join join;
  TracePairs derived;
};

/// What kernels of one name did beside communication, of the pairs that were kept.
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
/// launch, then by function name where all launches of it say the same.
[[nodiscard]] Table PairTableOf(const std::vector<JoinedRank>& ranks,
                                const CountedKernels* counters);

/// Kernels that only one run has.
[[nodiscard]] Table UnmatchedTable(const std::vector<JoinedRank>& ranks);

/// Communication kernels of the runs together.
[[nodiscard]] Table CommunicationTable(const std::vector<JoinedRank>& ranks);

/// By function name, those with the most time together first.
[[nodiscard]] std::vector<KernelMedian> MediansOf(const std::vector<JoinedRank>& ranks);

[[nodiscard]] Table MedianTable(const std::vector<KernelMedian>& medians);

}  // namespace orrery::overlap::from_traces
