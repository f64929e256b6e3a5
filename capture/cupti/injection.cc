#include <cstdio>
#include <string>

#include "capture/cupti/session.h"
#include "capture/recorder/process_recorder.h"

// The driver loads this library (CUDA_INJECTION64_PATH) before the first context of a process and
// calls the function below. Whatever goes wrong, the program runs on.

namespace orrery::capture {
namespace {

CollectionOptions OptionsFromEnvironment() {
  const auto is_set = [](const char* name) { return NumberFrom(ProcessEnvironment, name, 0) != 0; };
  return {.all_calls = is_set("ORRERY_CAPTURE_API"),
          .whole_graphs = is_set("ORRERY_CAPTURE_WHOLE_GRAPHS"),
          .managed = is_set("ORRERY_CAPTURE_MANAGED")};
}

// Never taken down: CUPTI's threads may still call it when the process ends.
CoarseSession& TheSession() {
  static auto* const source = MakeCuptiSource().release();
  static auto* const session = new CoarseSession(
      ProcessRecorder({.producer = "orrery capture (CUPTI)", .ordering = Ordering::kByTime}),
      *source, OptionsFromEnvironment());
  return *session;
}

void Begin() {
  Recorder& recorder =
      ProcessRecorder({.producer = "orrery capture (CUPTI)", .ordering = Ordering::kByTime});
  if (!recorder.is_open()) {
    return;
  }
  static_cast<void>(ThreadNumber());  // this thread launches, mostly, and is known before
  if (const std::string why = TheSession().Start(); !why.empty()) {
    std::fprintf(stderr, "orrery: CUPTI cannot record (%s); the program runs on without it\n",
                 why.c_str());
    return;
  }
  SetAtFinish([] { TheSession().Finish(); });
}

}  // namespace
}  // namespace orrery::capture

extern "C" __attribute__((visibility("default"))) int InitializeInjection(void) {
  static bool is_begun = false;
  if (!is_begun) {
    is_begun = true;
    try {
      orrery::capture::Begin();
    } catch (...) {
      std::fputs("orrery: no memory for recording; the program runs on without it\n", stderr);
    }
  }
  return 1;
}
