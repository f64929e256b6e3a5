#pragma once

#include "orrery/ingest/nsys/export_context.h"
#include "orrery/ingest/nsys/rank_set.h"

namespace orrery::ingest::nsys {

/// Reads every table of host slices that has no table in a trace (profiler overhead, operating
/// system, cuBLAS, MPI …): any that has begin, end, thread and name and has not been read.
void ReadOtherSlices(ExportContext& context, RankSet& ranks);

}  // namespace orrery::ingest::nsys
