#include "orrery/base/file/unfinished_file.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <string>
#include <utility>

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

namespace orrery {
namespace {

// Names of what is being written; null: a free place. Global because a signal handler reaches
// nothing else.
std::array<std::atomic<const char*>, 64> unfinished_files;  // one beyond them outlives a signal

// Calls only what a signal handler may: a folder needs a process, because listing it allocates.
void Remove(const char* path) {
  if (unlink(path) == 0 || errno != EISDIR) {
    return;
  }
  const pid_t child = _Fork();
  if (child == 0) {
    execl("/bin/rm", "rm", "-rf", "--", path, nullptr);
    _exit(1);
  }
  while (child > 0 && waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void RemoveUnfinishedFiles(int signal) {
  for (std::atomic<const char*>& place : unfinished_files) {
    if (const char* const path = place.exchange(nullptr)) {
      Remove(path);
    }
  }
  std::raise(signal);  // SA_RESETHAND: ends the program, and its parent sees by which signal
}

}  // namespace

UnfinishedFile::UnfinishedFile(std::string path) : path_(std::move(path)) {
  for (std::atomic<const char*>& place : unfinished_files) {
    const char* expected = nullptr;
    if (place.compare_exchange_strong(expected, path_.c_str())) {
      place_ = &place;
      return;
    }
  }
}

UnfinishedFile::~UnfinishedFile() {
  if (place_ != nullptr && place_->exchange(nullptr) == nullptr) {
    while (true) {  // another thread's handler uses the name and is about to end the program
      pause();
    }
  }
}

void RemoveUnfinishedFilesOnSignals() {
  for (const int signal : {SIGHUP, SIGINT, SIGTERM}) {
    struct sigaction action = {};
    // Under nohup a signal is ignored, and stays so.
    if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_DFL) {
      action.sa_handler = RemoveUnfinishedFiles;
      action.sa_flags = static_cast<int>(SA_RESETHAND);
      sigaction(signal, &action, nullptr);
    }
  }
}

}  // namespace orrery
