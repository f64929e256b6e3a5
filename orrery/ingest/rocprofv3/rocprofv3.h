#pragma once

#include "orrery/ingest/format.h"

namespace orrery::ingest::rocprofv3 {

/// What AMD's rocprofv3 writes: its tables as CSV (kernels, copies, allocations, calls, agents), of
/// which those of one process have one beginning of their names and become one trace, its JSON
/// and its SQLite database (rocpd).
/// Allocations are those of the driver; what frees name by address only is resolved.
[[nodiscard]] const Format& GetFormat();

}  // namespace orrery::ingest::rocprofv3
