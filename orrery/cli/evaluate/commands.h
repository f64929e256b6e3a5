#pragma once

#include <CLI/CLI.hpp>

namespace orrery::cli {

// What `orrery evaluate` can evaluate beside kernels, one function and one file each.

void AddEvaluateCollectivesCommand(CLI::App& evaluate, int& status);
void AddEvaluateOverlapCommand(CLI::App& evaluate, int& status);

}  // namespace orrery::cli
