#pragma once

#include <CLI/CLI.hpp>

namespace orrery::cli {

// What `orrery fit` can fit, one function and one file each.

void AddFitCollectivesCommand(CLI::App& fit, int& status);
void AddFitFrameworksCommand(CLI::App& fit, int& status);
void AddFitHostCommand(CLI::App& fit, int& status);
void AddFitKernelsCommand(CLI::App& fit, int& status);
void AddFitOverlapCommand(CLI::App& fit, int& status);
void AddFitSiblingsCommand(CLI::App& fit, int& status);

}  // namespace orrery::cli
