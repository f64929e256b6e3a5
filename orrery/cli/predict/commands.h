#pragma once

#include <CLI/CLI.hpp>

namespace orrery::cli {

// What `orrery predict` can predict, one function and one file each.

/// `predict TRACE` has no word of its own: its options belong to the verb.
void AddPredictTraceCommand(CLI::App& predict, int& status);

void AddPredictCollectiveCommand(CLI::App& predict, int& status);
void AddPredictKernelCommand(CLI::App& predict, int& status);
void AddPredictOverlapCommand(CLI::App& predict, int& status);

}  // namespace orrery::cli
