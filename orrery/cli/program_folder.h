#pragma once

#include <filesystem>

namespace orrery::cli {

/// The folder that the running program lies in; empty when the system does not tell.
[[nodiscard]] std::filesystem::path ProgramFolder();

}  // namespace orrery::cli
