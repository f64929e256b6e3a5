#pragma once

#include <chrono>
#include <cstdint>

namespace orrery::capture {

/// Where the times of a recording come from; tests hand in one of their own.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual std::int64_t now_ns() const noexcept = 0;
};

/// Nanoseconds since the epoch.
class EpochClock : public Clock {
 public:
  [[nodiscard]] std::int64_t now_ns() const noexcept override {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  }
};

}  // namespace orrery::capture
