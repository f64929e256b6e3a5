#pragma once

#include <vector>

#include "orrery/trace/trace.h"

namespace orrery::ingest::kineto {

/// Undoes what Orrery's own export adds to a file of the profiler: drops the rows that it derived
/// (categories "orrery_…", curves of allocated memory), and puts rows that had to move aside to a
/// thread of their own back to their track. Files of others are left alone.
///
/// Returns where each track's rows are now, for links that the trace does not hold yet; empty when
/// nothing moved.
std::vector<RowId> UndoExport(trace::Trace& trace);

}  // namespace orrery::ingest::kineto
