#pragma once

#include <string_view>

#include "orrery/base/error.h"
#include "orrery/base/progress.h"

namespace orrery::cli {

/// Prints text to standard output.
void Print(std::string_view text);

/// Prints the one sentence a user gets for an error, and returns the exit status for it.
int PrintError(const Error& error);

/// Prints a sentence that is not part of the output, to standard error.
void PrintNotice(std::string_view sentence);

/// A progress line on standard error; silent when that is no terminal.
[[nodiscard]] ProgressLine::Options TerminalProgress();

}  // namespace orrery::cli
