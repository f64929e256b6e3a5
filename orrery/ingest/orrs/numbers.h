#pragma once

#include <cstdint>
#include <limits>

namespace orrery::ingest::orrs {

/// A count of the stream as a signed one; what no machine reaches becomes the largest.
[[nodiscard]] constexpr std::int64_t Signed(std::uint64_t value) {
  constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return static_cast<std::int64_t>(value < kLargest ? value : kLargest);
}

[[nodiscard]] constexpr std::int32_t Small(std::uint64_t value) {
  constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max());
  return static_cast<std::int32_t>(value < kLargest ? value : kLargest);
}

/// A number that may be -1 for "not known".
[[nodiscard]] constexpr std::int32_t SmallOrNone(std::int64_t value) {
  return value < 0 ? -1 : Small(static_cast<std::uint64_t>(value));
}

/// Products and sums that stop at the largest number.
[[nodiscard]] constexpr std::uint64_t Times(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::uint64_t>::max()
                                                : product;
}

[[nodiscard]] constexpr std::uint64_t Plus(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::uint64_t>::max() : sum;
}

/// The time between two moments, 0 if they are the wrong way round or too far apart.
[[nodiscard]] constexpr std::int64_t Elapsed(std::int64_t begin_ns, std::int64_t end_ns) {
  std::int64_t elapsed = 0;
  return __builtin_sub_overflow(end_ns, begin_ns, &elapsed) || elapsed < 0 ? 0 : elapsed;
}

}  // namespace orrery::ingest::orrs
