#pragma once

#include <cstdint>

#include "orrery/report/run_report.h"

namespace orrery::report {

/// Returns the report of a synthetic run, for tests and for looking at the page: layers of compute
/// and an all-reduce inside groups of eight, then a reduce-scatter and an all-gather over all
/// ranks. One rank in each 300 is slow, and one is late once. The same size gives the same report.
[[nodiscard]] RunReport SampleReport(std::int32_t num_ranks);

}  // namespace orrery::report
