#pragma once

#include "orrery/ingest/nsys/export_context.h"
#include "orrery/ingest/nsys/rank_set.h"

namespace orrery::ingest::nsys {

/// Reads allocations and frees of device memory.
void ReadMemoryEvents(ExportContext& context, RankSet& ranks);

}  // namespace orrery::ingest::nsys
