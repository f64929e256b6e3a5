#pragma once

#include "orrery/trace/trace.h"

namespace orrery::ingest::execution_trace {

/// Fills `process_groups`, `collectives` and the rank from the graph nodes, which must be linked.
/// Calls come from `record_param_comms`; a trace without any (process groups that only pretend) has
/// the communication operators themselves instead, the outermost of each nest.
void ReadCollectives(trace::Trace& trace);

}  // namespace orrery::ingest::execution_trace
