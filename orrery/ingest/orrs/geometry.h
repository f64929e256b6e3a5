#pragma once

#include <algorithm>
#include <cstdint>

#include "orrery/ingest/orrs/numbers.h"
#include "orrery/stream/schema.h"

// Sizes of copies and sets of up to three dimensions. A height or depth of 0 counts as 1.

namespace orrery::ingest::orrs {

[[nodiscard]] constexpr std::uint64_t AtLeastOne(std::uint64_t count) {
  return std::max<std::uint64_t>(count, 1);
}

/// The bytes that are moved, gaps between rows left out.
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
