#pragma once

#include <cstdint>
#include <vector>

#include "orrery/trace/trace.h"

namespace orrery::workload {

/// Kernels of a recording as they would run with the GPU for themselves. The time of a kernel that
/// ran beside those of other streams includes what they took from it; a replay in which other
/// kernels meet must not have that twice.
struct AloneKernels {
  bool have_several_streams = false;           // otherwise durations are those recorded
  std::vector<std::int64_t> duration_ns = {};  // of Activities
  std::vector<std::uint32_t> sm_share = {};    // … in millionths; 0 of what does not compute
};

/// Kernels that together want more multiprocessors than there are ran in proportion to their
/// shares, as simulate::AnalyticOverlap has it. A kernel wants one for each of its blocks, and all
/// where its launch is not known. Copies and communication neither slow others down nor are slowed
/// down here.
[[nodiscard]] AloneKernels AloneKernelsOf(const trace::Trace& recording);

}  // namespace orrery::workload
