#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "orrery/ingest/kineto/chunk.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::kineto {

// What can only be said of rows when the whole file is known.

/// Adds `base_ns` to every time.
void ShiftTimes(trace::Trace& trace, std::int64_t base_ns);

/// Shortens durations that reach implausibly far beyond the profiler's window (ROCm writes end
/// minus start as an unsigned number when the two are swapped).
void ClipDurations(trace::Trace& trace);

/// Fills the kind of each copy from its name, and makes memcpy and memset of what ROCm up to 7.1
/// records as kernels.
void ClassifyCopies(trace::Trace& trace);

/// Links backward operators to forward operators by the file's own flow events. Expects a finished
/// trace; flow events replace what sequence numbers gave.
void LinkForwardBackward(trace::Trace& trace,
                         const std::vector<std::pair<FlowEnd, FlowEnd>>& arrows);

/// Moves the slices of XLA's Chrome export, which have no categories, to their tables by the names
/// of their processes ("/device:TPU:0"). Returns whether the file is such an export.
bool ClassifyXlaSlices(trace::Trace& trace);

}  // namespace orrery::ingest::kineto
