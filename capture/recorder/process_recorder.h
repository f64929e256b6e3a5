#pragma once

#include "capture/recorder/recorder.h"

namespace orrery::capture {

/// The options with which the library in this process records; set before the first use.
struct ProcessRecorderOptions {
  const char* producer = "orrery";
  Ordering ordering = Ordering::kCounted;
};

/// The recorder of this process, opened at the first call by what the environment says; later
/// options are ignored. It is finished at exit, left alone in children of a fork, and never taken
/// down, since threads of the target may still call it then.
[[nodiscard]] Recorder& ProcessRecorder(const ProcessRecorderOptions& options = {});

/// Runs `last` before the recorder is finished at exit; one such function.
void SetAtFinish(void (*last)());

}  // namespace orrery::capture
