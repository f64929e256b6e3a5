#pragma once

#include <span>

#include "orrery/base/error.h"
#include "orrery/base/file/byte_sink.h"
#include "orrery/export/collective_spans.h"
#include "orrery/trace/trace_set.h"

namespace orrery::exporting {

/// Writes a run in Perfetto's own format (.pftrace): smaller than JSON, exact to the nanosecond,
/// and for many ranks, since tracks form a tree (rank, device, stream).
///
/// Each rank has two packet sequences, one for slices and one for counters and marks; the packets
/// of a sequence come in order of time, ends before begins. Slices that overlap are on tracks of
/// their own ("stream 7 (2)"). Arrows go from launch to device work, and from forward to backward
/// operator; arrows of the file are marks with an arrow between them. Arguments that have a column
/// are annotations; `extra` and graph nodes are not written.
///
/// `collectives` adds a track for each group, and a slice "wait" at the head of each communication
/// kernel that waits. The same input gives the same bytes. Does not close the sink.
[[nodiscard]] Status WritePerfetto(const trace::TraceSet& set,
                                   std::span<const CollectiveSpan> collectives, ByteSink& sink);

}  // namespace orrery::exporting
