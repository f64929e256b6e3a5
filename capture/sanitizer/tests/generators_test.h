#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <rapidcheck.h>

#include "capture/sanitizer/device/layout.h"
#include "capture/sanitizer/device/warp.h"
#include "capture/sanitizer/device/warp_access.h"
#include "capture/sanitizer/tests/emulated_warp_test.h"

namespace orrery::capture {

/// Ranges with gaps, ranges that touch, ranges that begin inside a sector and a page.
inline std::vector<Range> DrawRanges() {
  std::vector<Range> ranges;
  std::uint64_t next = 0x7f0000000000U + *rc::gen::inRange<std::uint64_t>(0, 4096);
  const auto count = *rc::gen::inRange(0, 70);
  for (int i = 0; i < count; ++i) {
    next += *rc::gen::element<std::uint64_t>(0, 0, 4, 48, 5000);
    const std::uint64_t bytes = *rc::gen::element<std::uint64_t>(4, 16, 36, 512, 4096, 100'000);
    ranges.push_back({next, next + bytes});
    next += bytes;
  }
  return ranges;
}

/// Somewhere in a range, at its end, or just outside.
inline std::uint64_t DrawAddress(const std::vector<Range>& ranges) {
  if (ranges.empty()) {
    return *rc::gen::inRange<std::uint64_t>(16, 1U << 20U);
  }
  const auto& range = ranges[*rc::gen::inRange<std::size_t>(0, ranges.size())];
  const std::uint64_t span = range.end - range.begin;
  return range.begin + *rc::gen::inRange<std::uint64_t>(0, span + 2) -
         *rc::gen::element<std::uint64_t>(0, 0, 0, 8);
}

inline std::uint32_t DrawMask() {
  const auto some = *rc::gen::arbitrary<std::uint32_t>();
  return *rc::gen::element<std::uint32_t>(0xffffffffU, 0xffffffffU, 0xffU, 0xfffffff8U, 1, some,
                                          some, 0x80000000U) |
         1U << *rc::gen::inRange(0, 32);
}

/// Contiguous, strided either way, broadcast, rows of a tile, gathered. Lanes that are not active
/// have an address all the same.
inline WarpState DrawWarp(const std::vector<Range>& ranges, std::uint32_t bytes) {
  WarpState state;
  state.active = DrawMask();
  state.multiprocessor = *rc::gen::inRange<std::uint32_t>(0, 132);
  const std::uint64_t first = DrawAddress(ranges) / bytes * bytes;
  const std::int64_t stride =
      *rc::gen::element<std::int64_t>(0, 1, 1, 1, 2, 8, 1000, -1, -3) * std::int64_t{bytes};
  const bool has_rows = *rc::gen::inRange(0, 4) == 0;
  const bool is_gathered = *rc::gen::inRange(0, 3) == 0;
  for (std::uint32_t lane = 0; lane < kNumLanes; ++lane) {
    const std::int64_t column = has_rows ? lane % 8 : lane;
    const std::int64_t row = has_rows ? lane / 8 : 0;
    state.addresses[lane] = is_gathered
                                ? DrawAddress(ranges) / bytes * bytes
                                : first + static_cast<std::uint64_t>(column * stride + row * 640);
  }
  return state;
}

inline std::uint32_t DrawBytes() {
  return *rc::gen::element<std::uint32_t>(1, 2, 4, 4, 8, 16);
}

inline std::uint32_t DrawFlags() {
  return *rc::gen::element<std::uint32_t>(1, 2, 3, 7);
}

}  // namespace orrery::capture
