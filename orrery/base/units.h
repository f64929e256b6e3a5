#pragma once

#include <compare>
#include <cstdint>

namespace orrery {

/// A span of recorded time in nanoseconds. Traces hold integers, so the same file gives the same
/// answer on every machine.
struct Duration {
  std::int64_t nanoseconds = 0;

  auto operator<=>(const Duration&) const = default;

  friend Duration operator+(Duration lhs, Duration rhs) {
    return {lhs.nanoseconds + rhs.nanoseconds};
  }

  friend Duration operator-(Duration lhs, Duration rhs) {
    return {lhs.nanoseconds - rhs.nanoseconds};
  }
};

/// A point of time in nanoseconds; what it counts from is said by the trace (TimeOrigin).
struct TimePoint {
  std::int64_t nanoseconds = 0;

  auto operator<=>(const TimePoint&) const = default;

  friend TimePoint operator+(TimePoint lhs, Duration rhs) {
    return {lhs.nanoseconds + rhs.nanoseconds};
  }

  friend Duration operator-(TimePoint lhs, TimePoint rhs) {
    return {lhs.nanoseconds - rhs.nanoseconds};
  }
};

/// A number of bytes.
struct Bytes {
  std::int64_t count = 0;

  auto operator<=>(const Bytes&) const = default;

  friend Bytes operator+(Bytes lhs, Bytes rhs) { return {lhs.count + rhs.count}; }
};

/// Bytes per second, decimal: 1 GB/s is 1e9.
struct Bandwidth {
  double bytes_per_second = 0;

  auto operator<=>(const Bandwidth&) const = default;
};

/// A number of floating-point operations.
struct Flops {
  double count = 0;

  auto operator<=>(const Flops&) const = default;
};

/// Returns the rate at which `size` moved in `time`; zero when no time passed.
[[nodiscard]] inline Bandwidth Rate(Bytes size, Duration time) {
  return {time.nanoseconds == 0
              ? 0.0
              : static_cast<double>(size.count) * 1e9 / static_cast<double>(time.nanoseconds)};
}

}  // namespace orrery
