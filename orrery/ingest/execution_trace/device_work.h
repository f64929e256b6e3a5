#pragma once

#include "orrery/trace/trace.h"

namespace orrery::ingest::execution_trace {

/// Adds an activity for each graph node that is device work, so that an execution trace that was
/// merged with Kineto shows its kernels as any other trace does. The nodes stay: they hold the link
/// to the operator (`parent`) and the tensors.
void AddActivities(trace::Trace& trace);

}  // namespace orrery::ingest::execution_trace
