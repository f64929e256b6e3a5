#pragma once

#include "orrery/ingest/nsys/nccl_operations.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::nsys {

/// Fills the collectives and process groups of a finished trace, and links activities to them.
///
/// A row is what was launched together: the kernels of one call, or of one group of calls. Where
/// the export holds NCCL's NVTX ranges, a kernel belongs to the range (or group) around its launch
/// on the same thread; payloads then give communicator, bytes and peer. Calls of one kind and
/// communicator inside a group add up their bytes, sends (in) and receives (out) become one
/// send-receive. Kernels without a range are rows of their own, ranges without kernels are rows
/// with the time of the call. A process group is a communicator.
void FillCollectives(trace::Trace& trace, const NcclRecord& record);

}  // namespace orrery::ingest::nsys
