#include "capture/recorder/process_recorder.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

#include <pthread.h>

namespace orrery::capture {
namespace {

std::atomic<void (*)()>& AtFinish() {
  static std::atomic<void (*)()> last{nullptr};
  return last;
}

void FinishAtExit() {
  if (auto* const last = AtFinish().exchange(nullptr)) {
    last();
  }
  ProcessRecorder().Finish();
}

void FlushBeforeFork() {
  ProcessRecorder().Flush();
}

void AbandonInChild() {
  AtFinish() = nullptr;
  ProcessRecorder().Abandon();
}

std::string FirstLineOf(const char* path) {
  std::string line;
  std::getline(std::ifstream(path) >> std::ws, line);
  return line;
}

MachineFacts FactsOfJob() {
  return {.driver = FirstLineOf("/sys/module/nvidia/version"),
          .rank = NumberFrom(ProcessEnvironment, "RANK", -1),
          .world_size = NumberFrom(ProcessEnvironment, "WORLD_SIZE", -1)};
}

// Ranks of one job write beside each other: "run.orrs" becomes "run.rank-3.orrs".
std::string PathOfRank(const std::string& path, const MachineFacts& facts) {
  constexpr std::string_view kExtension = ".orrs";
  if (path.empty() || facts.rank < 0 || facts.world_size < 2) {
    return path;
  }
  const bool has_extension = path.ends_with(kExtension);
  const std::string stem = has_extension ? path.substr(0, path.size() - kExtension.size()) : path;
  return stem + ".rank-" + std::to_string(facts.rank) + std::string(kExtension);
}

Recorder* Open(const ProcessRecorderOptions& options) {
  static const EpochClock clock;
  RecorderSettings settings = SettingsFrom(ProcessEnvironment);
  const MachineFacts facts = FactsOfJob();
  settings.path = PathOfRank(settings.path, facts);
  settings.producer = options.producer;
  settings.ordering = options.ordering;
  const bool is_wanted = !settings.path.empty();
  auto* const recorder = new Recorder(std::move(settings), clock);
  recorder->SetFacts(facts);
  if (is_wanted && !recorder->is_open()) {
    std::fprintf(stderr,
                 "orrery: %s cannot be written (%s); the program runs on without a recording\n",
                 recorder->sink().path().c_str(), recorder->sink().why_stopped().c_str());
  }
  return recorder;
}

}  // namespace

Recorder& ProcessRecorder(const ProcessRecorderOptions& options) {
  static Recorder* const recorder = [&] {
    Recorder* const opened = Open(options);
    std::atexit(FinishAtExit);
    pthread_atfork(FlushBeforeFork, nullptr, AbandonInChild);
    return opened;
  }();
  return *recorder;
}

void SetAtFinish(void (*last)()) {
  AtFinish() = last;
}

}  // namespace orrery::capture
