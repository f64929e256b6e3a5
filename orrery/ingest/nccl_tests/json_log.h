#pragma once

#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/ingest/nccl_tests/run.h"
#include "orrery/trace/problems.h"

namespace orrery::ingest::nccl_tests {

/// Reads a report of `-J`. A report that was truncated (the program is still running, or was
/// killed) gives the results that are complete.
[[nodiscard]] Result<std::vector<Run>> ParseJsonLog(std::string_view text,
                                                    trace::ProblemLog& problems);

}  // namespace orrery::ingest::nccl_tests
