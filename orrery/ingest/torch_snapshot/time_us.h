#pragma once

#include <algorithm>
#include <cstdint>

namespace orrery::ingest::torch_snapshot {

/// Microseconds since 1970 as nanoseconds, within what leaves room to add times (the year 2043).
[[nodiscard]] inline std::int64_t NanosecondsOf(std::int64_t time_us) {
  constexpr std::int64_t kLatestUs = (std::int64_t{1} << 61) / 1000;
  return std::clamp<std::int64_t>(time_us, 0, kLatestUs) * 1000;
}

}  // namespace orrery::ingest::torch_snapshot
