#include <csignal>

#include <fcntl.h>
#include <unistd.h>

#include "orrery/base/file/mapped_file.h"
#include "orrery/base/file/unfinished_file.h"
#include "orrery/cli/program.h"

namespace orrery::cli {
namespace {

// If standard streams are closed, the first files that are opened would take their numbers, and
// text for the user would end up in them. Opened for the wrong direction, every use is an error.
void OccupyStandardStreams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) == -1) {  // open takes the lowest free number, which is this one
      [[maybe_unused]] const int opened =
          open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
  }
}

// Behind the limit of `ulimit -f` a write fails, and says so, instead of ending the program. A
// handler that does nothing, and not SIG_IGN, which the programs that `capture` starts would
// inherit.
void OutliveLimitOfFileSizes() {
  struct sigaction action{};
  if (sigaction(SIGXFSZ, nullptr, &action) == 0 && action.sa_handler == SIG_DFL) {
    action.sa_handler = [](int /*signal*/) {};
    action.sa_flags = SA_RESTART;
    sigaction(SIGXFSZ, &action, nullptr);
  }
}

}  // namespace
}  // namespace orrery::cli

// NOLINTNEXTLINE(bugprone-exception-escape): CLI11 throws for mistakes of ours in the set-up only.
int main(int argc, char** argv) {
  orrery::cli::OccupyStandardStreams();
  orrery::ReturnFreedMemoryEarly();
  orrery::RemoveUnfinishedFilesOnSignals();
  orrery::cli::OutliveLimitOfFileSizes();
  return orrery::cli::RunProgram(argc, argv);
}
