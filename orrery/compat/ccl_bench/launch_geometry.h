#pragma once

#include <optional>
#include <vector>

#include "orrery/compat/ccl_bench/compat.h"
#include "orrery/base/columns.h"
#include "orrery/trace/trace.h"

namespace orrery::compat::ccl_bench {

/// Returns the profiler's `blocks per SM` of each launch shape, where the file has it.
[[nodiscard]] std::vector<std::optional<double>> RecordedBlocksPerSm(const trace::Trace& trace);

/// Returns how many blocks a kernel was launched with.
[[nodiscard]] std::optional<double> BlocksOf(const trace::Trace& trace, RowId activity);

/// Returns the multiprocessors of the first device of the run, as the suite takes for all.
[[nodiscard]] std::optional<double> FirstDeviceMultiprocessors(const CompatRun& run);

}  // namespace orrery::compat::ccl_bench
