#pragma once

#include <mutex>
#include <set>
#include <utility>

#include "capture/recorder/recorder.h"
#include "capture/sanitizer/host/failures.h"
#include "capture/sanitizer/host/vendor.h"

namespace orrery::capture::sanitizer {

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
