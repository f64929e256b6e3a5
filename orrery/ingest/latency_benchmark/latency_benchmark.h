#pragma once

#include "orrery/ingest/format.h"

namespace orrery::ingest::latency_benchmark {

/// Results of vLLM's latency benchmark. Gives one table with the columns statistic and latency_s:
/// a row "average", a row for each percentile ("p50") and a row "iteration" for each measurement,
/// numbered in the column iteration.
[[nodiscard]] const Format& GetFormat();

}  // namespace orrery::ingest::latency_benchmark
