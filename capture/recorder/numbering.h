#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "capture/recorder/settings.h"

namespace orrery::capture {

/// Hands out the numbers of events.
///
/// By time, a number is the nanoseconds since the recording began, times 256. Events that are
/// recorded as they happen have 0 in the low byte; those that are told of later have another one
/// that follows from their correlation number. So no two are equal unless 127 calls begin within
/// one nanosecond.
class Numbering {
 public:
  Numbering(Ordering ordering, std::int64_t start_ns) : ordering_(ordering), start_ns_(start_ns) {}

  /// Of an event that happens now. Numbers grow, whatever the clock does.
  std::uint64_t Next(std::int64_t now_ns) noexcept {
    if (ordering_ == Ordering::kCounted) {
      return last_.fetch_add(1, std::memory_order_relaxed) + 1;
    }
    std::uint64_t last = last_.load(std::memory_order_relaxed);
    std::uint64_t next = 0;
    do {
      next = std::max(last + kPlaces, Since(now_ns));
    } while (!last_.compare_exchange_weak(last, next, std::memory_order_relaxed));
    return next;
  }

  /// Of the k-th event of a call that the host began at `host_ns`. Counted: simply the next.
  std::uint64_t Late(std::int64_t host_ns, std::uint64_t correlation, std::uint64_t k) noexcept {
    if (ordering_ == Ordering::kCounted) {
      return Next(host_ns);
    }
    return Since(host_ns) + k * kPlaces + 1 + 2 * (correlation % kCallsInATick);
  }

  /// Of that call itself.
  std::uint64_t LateCall(std::int64_t host_ns, std::uint64_t correlation) noexcept {
    return ordering_ == Ordering::kCounted ? Next(host_ns) : Late(host_ns, correlation, 0) + 1;
  }

  [[nodiscard]] std::int64_t start_ns() const noexcept { return start_ns_; }

 private:
  static constexpr std::uint64_t kPlaces = 256;
  static constexpr std::uint64_t kCallsInATick = 127;

  [[nodiscard]] std::uint64_t Since(std::int64_t time_ns) const noexcept {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(time_ns - start_ns_, 0)) * kPlaces;
  }

  Ordering ordering_;
  std::int64_t start_ns_;
  std::atomic<std::uint64_t> last_{0};
};

}  // namespace orrery::capture
