#pragma once

#include "orrery/ingest/format.h"

namespace orrery::ingest::nvf1 {

/// Recordings of NVLink counters ("NVF1"), one GPU a file. Gives one table, a row for each sample:
/// gpu (from the file's name), host_time_ns (monotonic clock), time_us (since the epoch),
/// direction ("tx", "rx"), raw (1: protocol included), link (missing: sum over the links) and kib,
/// which counts up from an unknown start. A sample that NVML refused has no kib: no interval may be
/// formed across it.
[[nodiscard]] const Format& GetFormat();

}  // namespace orrery::ingest::nvf1
