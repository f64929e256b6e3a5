#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>

#include "capture/recorder/recorder.h"
#include "capture/sanitizer/analysis/attribution.h"
#include "capture/sanitizer/device/layout.h"
#include "capture/sanitizer/host/overheads.h"
#include "capture/sanitizer/host/launch/pending_launches.h"
#include "capture/sanitizer/host/vendor.h"

namespace orrery::capture::sanitizer {

/// Every access of the launches that want it, from the device through a ring in pinned memory. A
/// thread of our own empties the ring while kernels run: it attributes accesses to objects (the
/// analysis on the host), records them one by one, or both.
///
/// Nothing on the host waits for the device: what is not there is looked for again later, a bounded
/// number of times. The device waits for the host a bounded time, then drops and counts.
class AccessStream {
 public:
  AccessStream(VendorCalls& calls, Recorder& recorder, ContextHandle context,
               std::uint64_t ring_bytes, Overheads& overheads);
  ~AccessStream();
  AccessStream(const AccessStream&) = delete;
  AccessStream& operator=(const AccessStream&) = delete;

  [[nodiscard]] CallResult Open(StreamHandle stream);

  [[nodiscard]] bool is_open() const { return is_open_; }

  /// Returns the ring's address on the device, for the patches.
  [[nodiscard]] AccessRing* ring() const;

  /// A launch whose accesses will come.
  void Expect(const PendingLaunch& launch, bool with_attribution);
  void Forget(const PendingLaunch& launch);

  /// Launches of other functions count with that one: where an instruction lies in its function is
  /// not known any more.
  void ForgetFunction(std::uint64_t launch);

  /// Takes everything in that was written by launches which `stream` has passed. Returns how many
  /// accesses were lost since the last time.
  [[nodiscard]] std::uint64_t Finish(StreamHandle stream);

  /// Returns the results attributed to a launch that is finished and not yet forgotten.
  [[nodiscard]] BlockResults Results(const PendingLaunch& launch);

  /// Ends the thread.
  void Stop();

  /// Also gives the memory back.
  void Close();

 private:
  struct Expected {
    std::uint64_t number = 0;
    std::optional<std::uint64_t> function_pc;
    bool is_recorded = false;
    std::unique_ptr<Attribution> attribution;
  };

  void Work(const std::atomic<bool>& is_ending);
  bool TakeSome();
  void Take(const StreamedAccess& access);
  [[nodiscard]] bool ReadHead(StreamHandle stream);
  [[nodiscard]] bool TakeUntil(std::uint64_t head);

  VendorCalls& calls_;
  Recorder& recorder_;
  ContextHandle context_;
  std::uint64_t ring_bytes_;
  Overheads& overheads_;
  std::byte* host_memory_ = nullptr;  // the ring's cells, its tail, and a copy of the ring itself
  std::uint64_t device_ring_ = 0;
  std::atomic<bool> is_open_{false};
  std::atomic<bool> is_ending_{false};
  std::thread worker_;
  std::mutex finishing_;  // one at a time reads the head
  std::mutex mutex_;      // guards all below
  AccessRing host_ring_{};
  std::unique_ptr<RingReader> reader_;
  std::unordered_map<std::uint32_t, Expected> expected_;  // by the low half of the launch's number
  std::uint64_t num_dropped_ = 0;
  std::uint64_t num_strangers_ = 0;  // accesses of launches that were not expected
};

/// Records one access; `function_pc` is where its function begins, if it is known.
void WriteAccess(Recorder& recorder, std::uint64_t launch, std::optional<std::uint64_t> function_pc,
                 const StreamedAccess& access);

}  // namespace orrery::capture::sanitizer
