#pragma once

#include "orrery/ingest/nsys/export_context.h"
#include "orrery/ingest/nsys/rank_set.h"

namespace orrery::ingest::nsys {

/// Reads kernels, copies, sets and whole graphs into the activities of their ranks.
void ReadDeviceRows(ExportContext& context, RankSet& ranks);

}  // namespace orrery::ingest::nsys
