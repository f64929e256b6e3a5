#pragma once

#include "orrery/ingest/nsys/export_context.h"
#include "orrery/ingest/nsys/rank_set.h"

namespace orrery::ingest::nsys {

/// Reads waits and event records. A wait is joined with the record of its event by `eventSyncId`.
/// Must come after the runtime calls, which give times to records that have none.
void ReadSyncRows(ExportContext& context, RankSet& ranks);

}  // namespace orrery::ingest::nsys
