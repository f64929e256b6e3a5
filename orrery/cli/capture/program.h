#pragma once

#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

namespace orrery::cli {

/// Adds a positional that takes no word, so that all are handed over. CLI11 ends a verb at `--`,
/// and forgets it, unless the verb still expects a word.
void KeepWordsBehindDashes(CLI::App* verb, const std::string& name, const std::string& description);

/// Makes `verb` hand all its words over to orrery-capture, the program that runs on GPU machines,
/// as its verb `name`; `status` is set only when that program cannot be started.
void HandOverToCapture(CLI::App* verb, std::string_view name, int& status);

}  // namespace orrery::cli
