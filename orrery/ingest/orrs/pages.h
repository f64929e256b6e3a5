#pragma once

#include "orrery/stream/schema.h"
#include "orrery/trace/memory_tables.h"

namespace orrery::ingest::orrs {

/// Appends a row for each run of touched pages; `row` has activity and object. False, and nothing
/// appended, if the record makes no sense.
[[nodiscard]] bool AppendPages(const stream::PageTouch& pages, trace::PageRuns::Row row,
                               trace::PageRuns& runs);

}  // namespace orrery::ingest::orrs
