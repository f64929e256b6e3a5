#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "capture/recorder/recorder.h"
#include "capture/sanitizer/host/contexts.h"

namespace orrery::capture::sanitizer {

/// Reads what launches counted, and records it. Any thread may call.
class Drainer {
 public:
  Drainer(VendorCalls& calls, Recorder& recorder, Overheads& overheads)
      : calls_(calls), recorder_(recorder), overheads_(overheads) {}

  /// Reads the results of all launches that are in the stream, or in any stream of the context, and
  /// records them.
  void Drain(Context& context, std::optional<StreamHandle> stream);

  /// The same, where nothing of before runs any more.
  void DrainPassed(Context& context, std::optional<StreamHandle> stream);

  void WaitAndDrain(Context& context, StreamHandle stream);

 private:
  [[nodiscard]] std::uint64_t FinishAccesses(AccessStream& accesses,
                                             const std::vector<PendingLaunch>& launches);
  void Finish(Context& context, const std::vector<PendingLaunch>& launches, bool is_cut);

  VendorCalls& calls_;
  Recorder& recorder_;
  Overheads& overheads_;
};

}  // namespace orrery::capture::sanitizer
