#pragma once

#include <atomic>
#include <string>

#include "capture/recorder/recorder.h"
#include "capture/sanitizer/host/vendor.h"
#include "orrery/stream/codes.h"

namespace orrery::capture::sanitizer {

/// What goes wrong in the capture: each failure is counted in the stream, and the first one is said
/// in one line. The program runs on.
class Failures {
 public:
  /// Shows a line to the user.
  using Show = void (*)(const char* line);

  Failures(Recorder& recorder, VendorCalls& calls, Show show)
      : recorder_(recorder), calls_(calls), show_(show) {}

  /// `what` was tried; returns whether it went well.
  bool IsWell(const char* what, CallResult result) {
    if (result != 0) {
      Add(what, calls_.TextOf(result));
    }
    return result == 0;
  }

  void Add(const char* what, const char* why) {
    recorder_.Count(stream::codes::kOtherCoverage, std::string("failed: ") + what);
    if (!is_shown_.exchange(true)) {
      show_((std::string("orrery: ") + what + " failed (" + why +
             "); the program runs on, and its recording says what is missing")
                .c_str());
    }
  }

 private:
  Recorder& recorder_;
  VendorCalls& calls_;
  Show show_;
  std::atomic<bool> is_shown_{false};
};

}  // namespace orrery::capture::sanitizer
