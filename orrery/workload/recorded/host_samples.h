#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/trace/trace.h"
#include "orrery/workload/recorded/call_tree.h"
#include "orrery/workload/recorded/host_model.h"

namespace orrery::workload {

/// One cost as a recording has it.
struct HostSample {
  HostPart part = HostPart::kWhole;
  StringId name = StringId::kEmpty;  // of the recording
  double value = 0;                  // nanoseconds, or a number
  double events = 0;  // how many events' profiler cost it holds; parts of events count in parts
  bool on_backward_thread = false;
};

/// Takes one step apart. Pauses in which another thread runs the backward pass are no cost of the
/// thread that waits, and are left out.
[[nodiscard]] std::vector<HostSample> SamplesOf(const trace::Trace& recording,
                                                const CallTree& step);

/// The times between launches, streams and kernels of a whole recording: launch_latency and
/// kernel_gap.
[[nodiscard]] std::vector<HostSample> DeviceSamplesOf(const trace::Trace& recording);

}  // namespace orrery::workload
