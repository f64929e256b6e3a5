#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "orrery/trace/trace.h"
#include "orrery/workload/recorded/call_tree.h"
#include "orrery/workload/recorded/host/host_model.h"
#include "orrery/workload/recorded/host/host_pace.h"
#include "orrery/workload/recorded/recorded_costs.h"

namespace orrery::workload {

/// The host with which a recording is replayed.
struct HostChoice {
  HostModel model = DefaultHost();
  /// The machine's speed where that is known; of a recording else its own (PaceOf).
  std::optional<HostPace> pace = {};
};

/// The host of a recorded step as it is without the profiler.
struct ReplayedHost {
  HostModel model = {};    // of operators, by name
  StepCosts program = {};  // the program's own time between them, place by place
  RecordedPace pace = {};
};

/// The host of one of the steps of a recording. Operators of PyTorch take what the model says at
/// the pace of the machine, but none more than in the recording, since a profiler only adds to
/// them; those without a name in the model that take a millisecond are as recorded. What the
/// program does itself is as recorded, less the profiler's share, which operators that do next to
/// nothing tell: at the recording's pace, or at that of the machine that was chosen.
[[nodiscard]] ReplayedHost HostOfRecording(const trace::Trace& recording,
                                           std::span<const CallTree> steps, std::size_t which,
                                           const HostChoice& choice);

/// The program's own time that is code between operators: what takes longer than a millisecond at
/// one place is a wait or work of the CPU, which no profiler makes longer.
[[nodiscard]] double CodeNs(const StepCosts& program);

/// Scales the same.
void ScaleCode(double factor, StepCosts& program);

}  // namespace orrery::workload
