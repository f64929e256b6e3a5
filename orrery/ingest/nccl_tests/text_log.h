#pragma once

#include <string_view>
#include <vector>

#include "orrery/ingest/nccl_tests/run.h"
#include "orrery/trace/problems.h"

namespace orrery::ingest::nccl_tests {

/// Reads what the programs print, of any version and after any launcher. One run for each
/// execution that printed rows; incomplete rows are counted.
[[nodiscard]] std::vector<Run> ParseTextLog(std::string_view text, trace::ProblemLog& problems);

}  // namespace orrery::ingest::nccl_tests
