#pragma once

#include <string>

namespace orrery::cli {

/// Runs the program's command line; returns the exit status.
int RunProgram(int argc, char** argv);

/// "orrery 0.5.0".
[[nodiscard]] std::string ProgramVersion();

}  // namespace orrery::cli
