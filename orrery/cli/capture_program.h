#pragma once

#include <string_view>

#include <CLI/CLI.hpp>

namespace orrery::cli {

/// Makes `verb` hand all its words over to orrery-capture, the program that runs on GPU machines,
/// as its verb `name`; `status` is set only when that program cannot be started.
void HandOverToCapture(CLI::App* verb, std::string_view name, int& status);

}  // namespace orrery::cli
