#pragma once

#include <vector>

#include "orrery/trace/trace.h"

namespace orrery::ingest {

/// Appends the objects to an empty table in the order that SortRows gives them, so that containers
/// and readers agree. `parent` columns are indexes of `rows` and become rows of the table. Returns
/// the row of each index.
std::vector<RowId> AppendObjects(const std::vector<trace::MemoryObjects::Row>& rows,
                                 trace::MemoryObjects& table);

}  // namespace orrery::ingest
