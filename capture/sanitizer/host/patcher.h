#pragma once

#include <atomic>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "capture/recorder/recorder.h"
#include "capture/sanitizer/host/vendor.h"
#include "orrery/stream/codes.h"

namespace orrery::capture::sanitizer {

/// The failures of the capture: each is counted in the stream, and the first is shown in one line.
/// The program continues.
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

/// Loads the patches, once for each context, and patches modules, each once. The vendor wants these
/// calls one at a time, in whatever context: one lock is held for them.
class Patcher {
 public:
  struct Setup {
    const void* image = nullptr;
    bool with_empty_patches = false;
  };

  Patcher(VendorCalls& calls, Recorder& recorder, Failures& failures, Setup setup)
      : calls_(calls), recorder_(recorder), failures_(failures), setup_(setup) {}

  void LoadInto(ContextHandle context);
  void Patch(const ModuleEvent& event);

  [[nodiscard]] bool IsPatched(ContextHandle context, ModuleHandle module);

  void Forget(ContextHandle context, ModuleHandle module);
  void Forget(ContextHandle context);

 private:
  using Module = std::pair<ContextHandle, ModuleHandle>;

  bool Load(ContextHandle context);
  bool PatchAll(ModuleHandle module);

  VendorCalls& calls_;
  Recorder& recorder_;
  Failures& failures_;
  Setup setup_;
  std::mutex mutex_;                         // guards all below, and the vendor's calls
  std::set<ContextHandle> contexts_;         // with patches
  std::set<ContextHandle> failed_contexts_;  // without
  std::set<Module> modules_;                 // patched
};

}  // namespace orrery::capture::sanitizer
