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

}  // namespace orrery
