#pragma once

#include <cstddef>

#include "orrery/base/error.h"
#include "orrery/base/table.h"
#include "orrery/workload/job/job.h"

namespace orrery::workload {

/// Reads one row of a table of runs that gave no result (docs/formats/published-runs.md): a
/// configuration of nanotron's sweep on nodes of eight H100s, sequences of 4,096 tokens. Many of
/// them, but not all, ran out of memory.
[[nodiscard]] Result<Job> ReadUnfinishedRun(const Table& table, std::size_t row);

}  // namespace orrery::workload
