#pragma once

#include "orrery/ingest/format.h"

namespace orrery::ingest::execution_trace {

/// The JSON files of PyTorch's ExecutionTraceObserver, schemas 1.0.0 to 1.1.1, and those that
/// were merged with Kineto afterwards. One file is one rank; its rows are `graph_nodes`,
/// `process_groups` and `collectives`, with times and `activities` only after such a merge.
const Format& GetFormat();

}  // namespace orrery::ingest::execution_trace
