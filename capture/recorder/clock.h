#pragma once

#include <cstdint>
#include <ctime>

namespace orrery::capture {

/// The source of a recording's times; tests pass one of their own.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual std::int64_t now_ns() const noexcept = 0;
};

/// Nanoseconds since the epoch.
class EpochClock : public Clock {
 public:
  [[nodiscard]] std::int64_t now_ns() const noexcept override {
    std::timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  }
};

}  // namespace orrery::capture
