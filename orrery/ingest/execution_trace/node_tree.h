#pragma once

#include <cstdint>
#include <vector>

#include "orrery/trace/trace.h"

namespace orrery::ingest::execution_trace {

/// Puts the nodes into order of id and links each to its parent; `parent_ids[i]` is the parent's id
/// of row i as the rows are before. Nodes whose parent is missing and one node of each cycle hang
/// on the process root; both are counted.
void LinkNodes(trace::Trace& trace, std::vector<std::int64_t> parent_ids);

}  // namespace orrery::ingest::execution_trace
