#pragma once

#include "orrery/ingest/format.h"

namespace orrery::ingest::nvbit_mem_trace {

/// The text that NVBit's example tool mem_trace prints: launches and the addresses of each warp's
/// accesses. There are no times (launches are in order, a nanosecond apart) and no allocations, so
/// objects are unknown and pages are the finest that can be said of memory as a whole.
[[nodiscard]] const Format& GetFormat();

}  // namespace orrery::ingest::nvbit_mem_trace
