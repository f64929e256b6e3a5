#pragma once

#include "orrery/trace/trace.h"

namespace orrery::ingest::kineto {

/// Replaces `trace.collectives`, which so far holds the collective arguments that operators and
/// kernels of the file carry, by one row for each collective of this rank.
///
/// Kernels belong to the `record_param_comms` operator around their launch; a call may have several
/// kernels and, in groups of one rank, none. Files recorded without peers have neither: there the
/// c10d operators are the collectives. Expects a finished trace.
void BuildCollectives(trace::Trace& trace);

}  // namespace orrery::ingest::kineto
