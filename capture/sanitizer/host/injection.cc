#include <cstdio>
#include <exception>
#include <memory>
#include <string>

#include "capture/recorder/process_recorder.h"
#include "capture/recorder/settings.h"
#include "capture/sanitizer/host/options.h"
#include "capture/sanitizer/host/sanitizer_calls.h"
#include "capture/sanitizer/host/session.h"

/// The image of all patches (patch_list.h), for compute capability 8.0 and 9.0 and what they run
/// on.
extern "C" const char orrery_patch_image[];

// The entry point that the driver calls before the first context of a process:
// CUDA_INJECTION64_PATH names this library. The program continues after any error here.

namespace {

using namespace orrery::capture;             // NOLINT: everything below has a C name
using namespace orrery::capture::sanitizer;  // NOLINT

Session* session = nullptr;  // never taken down: threads of the program may still call

void Show(const char* line) {
  std::fprintf(stderr, "%s\n", line);
}

void FinishSession() {
  try {
    session->Finish();
  } catch (...) {
    Show("orrery: the last results could not be recorded");
  }
}

void WriteFacts(Recorder& recorder, const Options& options) {
  recorder.SetFacts({.driver = DriverVersion(),
                     .toolkit = ToolkitVersion(),
                     .framework = "",
                     .rank = NumberFrom(ProcessEnvironment, "RANK", -1),
                     .world_size = NumberFrom(ProcessEnvironment, "WORLD_SIZE", -1)});
  for (const auto& [key, value] : SettingsOf(options)) {
    recorder.Setting(key, value);
  }
}

bool Start() {
  Recorder& recorder = ProcessRecorder({.producer = "orrery capture/sanitizer"});
  if (!recorder.is_open()) {
    return false;
  }
  static const SteadyClock clock;
  const Options options = OptionsFrom(ProcessEnvironment);
  VendorCalls& calls = *SanitizerCalls().release();
  WriteFacts(recorder, options);
  session = new Session({.calls = calls,
                         .recorder = recorder,
                         .clock = clock,
                         .options = options,
                         .patches = orrery_patch_image,
                         .show = Show});
  const CallResult result = Subscribe(*session);
  if (result != 0) {
    const std::string why = calls.TextOf(result);
    session->OnException(("subscribing to the driver's callbacks: " + why).c_str());
    return false;
  }
  SetAtFinish(FinishSession);
  return true;
}

}  // namespace

// The driver takes 0 for a failure; it goes on in either case.
extern "C" __attribute__((visibility("default"))) int InitializeInjection(void) {
  try {
    static const bool is_started = Start();
    return is_started ? 1 : 0;
  } catch (const std::exception& error) {
    Show((std::string("orrery: accesses are not recorded (") + error.what() + ")").c_str());
  } catch (...) {
    Show("orrery: accesses are not recorded");
  }
  return 0;
}
