#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/document/json_value.h"
#include "orrery/ingest/kineto/assembler.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::kineto {

// Steps that need the whole file.

/// Adds `base_ns` to every time.
void ShiftTimes(trace::Trace& trace, std::int64_t base_ns);

/// Shortens durations that reach implausibly far beyond the profiler's window (ROCm writes end
/// minus start as an unsigned number when the two are swapped).
void ClipDurations(trace::Trace& trace);

/// Fills the kind of each copy from its name, and reclassifies the memcpys and memsets that ROCm up
/// to 7.1 records as kernels.
void ClassifyCopies(trace::Trace& trace);

/// Links backward operators to forward operators by the file's own flow events. Expects a finished
/// trace; flow events replace what sequence numbers gave.
void LinkForwardBackward(trace::Trace& trace,
                         const std::vector<std::pair<FlowEnd, FlowEnd>>& arrows);

/// Moves the slices of XLA's Chrome export, which have no categories, to their tables by the names
/// of their processes ("/device:TPU:0"). Returns whether the file is such an export.
bool ClassifyXlaSlices(trace::Trace& trace);

/// Replaces `trace.collectives`, which so far holds the collective arguments that operators and
/// kernels of the file carry, by one row for each collective of this rank.
///
/// Kernels belong to the `record_param_comms` operator around their launch; a call may have several
/// kernels and, in groups of one rank, none. Files recorded without peers have neither: there the
/// c10d operators are the collectives. Expects a finished trace.
void BuildCollectives(trace::Trace& trace);

/// Reads the members before the list of events (`head`, which ends with the list's `[`) and after
/// it (`tail`, which begins after its `]`) into the trace: devices, rank, process groups and other
/// metadata. Damage is counted, never fatal. Returns what the times of the events count from, in
/// nanoseconds since 1970, where the file has it.
[[nodiscard]] std::optional<std::int64_t> ReadMetadata(std::string_view head, std::string_view tail,
                                                       trace::Trace& trace);

/// Reads the devices, process groups and other metadata of one of several ranks from its entry in
/// the member "orrery" of Orrery's own export.
void ReadRankMetadata(const JsonElement& entry, trace::Trace& trace);

}  // namespace orrery::ingest::kineto
