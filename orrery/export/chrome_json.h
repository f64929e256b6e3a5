#pragma once

#include <span>

#include "orrery/base/error.h"
#include "orrery/base/file/byte_sink.h"
#include "orrery/export/collective_spans.h"
#include "orrery/trace/clock/clock_alignment.h"
#include "orrery/trace/trace_set.h"

namespace orrery::exporting {

/// Writes a run in Chrome's JSON format, which Perfetto, chrome://tracing and all readers of
/// PyTorch traces understand. Arguments and categories are those of Kineto; times are microseconds
/// with three decimals since `baseTimeNanoseconds`, the whole second before the first event. What
/// only Orrery knows is under the key "orrery".
///
/// One rank alone keeps Kineto's numbering of processes and threads. Several ranks have a process
/// for the host and one for each device, numbered from 1 in order of rank, and each rank sorts at
/// ten times its number; the entry of a rank under "orrery" has its processes and its tracks as
/// they were, so that Orrery reads the ranks back as they are here. Overlapping slices of one
/// thread move to extra threads "stream 7 (2)"
/// ("lanes" under "orrery" lists them), so slices of one thread always nest.
///
/// `collectives` adds a process with a thread for each group, and a slice "wait" at the head of
/// each communication kernel that waits. Graph nodes have no time and are not written. `alignment`
/// is what the times of the set were corrected by, for a reader to undo; empty where they were not.
///
/// Does not close the sink.
[[nodiscard]] Status WriteChromeJson(const trace::TraceSet& set,
                                     std::span<const CollectiveSpan> collectives, ByteSink& sink,
                                     const trace::ClockAlignment& alignment = {});

}  // namespace orrery::exporting
