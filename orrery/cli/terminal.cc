#include "orrery/cli/terminal.h"

#include <chrono>
#include <cstdio>
#include <string_view>

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "orrery/base/error.h"
#include "orrery/base/progress.h"
#include "orrery/base/units.h"
#include "orrery/cli/command.h"

namespace orrery::cli {
namespace {

std::size_t TerminalWidth() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

TimePoint Now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::nanoseconds>(since).count()};
}

}  // namespace

void Print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

void PrintNotice(std::string_view sentence) {
  fmt::print(stderr, "orrery: {}\n", sentence);
}

int PrintError(const Error& error) {
  PrintNotice(error.message());
  return kExitUnusable;
}

ProgressLine::Options TerminalProgress() {
  return {.write =
              [](std::string_view text) {
                std::fwrite(text.data(), 1, text.size(), stderr);
                std::fflush(stderr);
              },
          .is_terminal = isatty(STDERR_FILENO) != 0,
          .width = TerminalWidth(),
          .now = Now};
}

}  // namespace orrery::cli
