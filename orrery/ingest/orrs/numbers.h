#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "orrery/stream/codes.h"
#include "orrery/stream/schema.h"
#include "orrery/trace/enums.h"

// Sizes of memcpy and memset of up to three dimensions. A height or depth of 0 counts as 1.

namespace orrery::ingest::orrs {

/// Converts an unsigned count to a signed one, saturating.
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

/// Saturating products and sums.
[[nodiscard]] constexpr std::uint64_t Times(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::uint64_t>::max()
                                                : product;
}

[[nodiscard]] constexpr std::uint64_t Plus(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::uint64_t>::max() : sum;
}

/// The time between two events, 0 if they are reversed or too far apart.
[[nodiscard]] constexpr std::int64_t Elapsed(std::int64_t begin_ns, std::int64_t end_ns) {
  std::int64_t elapsed = 0;
  return __builtin_sub_overflow(end_ns, begin_ns, &elapsed) || elapsed < 0 ? 0 : elapsed;
}

/// Coverage for a code of the stream; an unknown code means unseen.
[[nodiscard]] constexpr trace::Coverage CoverageOf(std::uint64_t code) {
  switch (code) {
    case stream::codes::kExact:
      return trace::Coverage::kExact;
    case stream::codes::kByArgument:
      return trace::Coverage::kByArgument;
    case stream::codes::kByDescriptor:
      return trace::Coverage::kByDescriptor;
    case stream::codes::kPartial:
      return trace::Coverage::kPartial;
    default:
      return trace::Coverage::kUnseen;
  }
}

[[nodiscard]] constexpr std::uint64_t AtLeastOne(std::uint64_t count) {
  return std::max<std::uint64_t>(count, 1);
}

/// The bytes that are moved, without the gaps between rows.
[[nodiscard]] constexpr std::uint64_t MovedBytes(const stream::Copy& copy) {
  return Times(Times(copy.width_bytes, AtLeastOne(copy.height)), AtLeastOne(copy.depth));
}

[[nodiscard]] constexpr std::uint64_t MovedBytes(const stream::Set& set) {
  return Times(set.width_bytes, AtLeastOne(set.height));
}

/// From the first byte to the last, gaps between rows counted.
[[nodiscard]] constexpr std::uint64_t ExtentOf(std::uint64_t width_bytes, std::uint64_t num_rows,
                                               std::uint64_t pitch) {
  return Plus(width_bytes, Times(AtLeastOne(num_rows) - 1, pitch == 0 ? width_bytes : pitch));
}

[[nodiscard]] constexpr std::uint64_t NumRows(const stream::Copy& copy) {
  return Times(AtLeastOne(copy.height), AtLeastOne(copy.depth));
}

}  // namespace orrery::ingest::orrs
