#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "orrery/workload/recorded/call_tree.h"

namespace orrery::workload {

/// The host overheads of one operator as ml_perf_model defines them, in nanoseconds. Unlike the
/// parts of a HostModel they do not add up over nested operators; they are for comparison with its
/// published figures. The profiler's cost is taken off for each event of the call tree.
struct OperatorOverheads {
  std::optional<double> t2_ns;  // from the begin to the first launch; none without a launch
  std::vector<double> t4_ns;    // the launches
  std::vector<double> t5_ns;    // between launches; without a launch the whole operator
  std::optional<double> t3_ns;  // from the last launch to the end
};

[[nodiscard]] OperatorOverheads OverheadsOf(std::span<const Call> calls, std::uint32_t op,
                                            double profiler_cost_ns);

/// T1: the gaps between consecutive calls of one parent that are longer than 2 and shorter than
/// 200 µs, less the profiler's cost.
[[nodiscard]] std::vector<double> GapsBetweenCalls(std::span<const Call> calls,
                                                   std::uint32_t parent, double profiler_cost_ns);

}  // namespace orrery::workload
