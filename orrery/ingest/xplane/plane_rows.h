#pragma once

#include "orrery/ingest/xplane/plane.h"
#include "orrery/ingest/xplane/recording.h"

namespace orrery::ingest::xplane {

/// Adds the rows of a plane to the recording.
///
/// Streams of GPUs and the operations of TPU cores are activities; whole programs, waits, loops
/// around operations and the two halves of asynchronous operations are activities of kind other.
/// Asynchronous work itself comes from the profiler's line of it, or, where that is empty, from its
/// halves. Other lines of a device are annotations on it. On the host, what has a correlation is a
/// runtime call, all else an annotation.
///
/// A TPU's reading of its own clock (device_offset_ps, device_duration_ps) is left out of `extra`:
/// it repeats the times of the row, and would give each row a text of its own.
void AddPlane(const Plane& plane, Recording& recording);

}  // namespace orrery::ingest::xplane
