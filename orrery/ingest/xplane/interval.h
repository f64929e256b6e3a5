#pragma once

#include <cstdint>
#include <optional>

namespace orrery::ingest::xplane {

struct Interval {
  std::int64_t begin_ns = 0;
  std::int64_t duration_ns = 0;
};

/// Says whether a time is small enough to be added to others.
[[nodiscard]] bool IsPlausibleTime(std::int64_t time);

/// Returns the time of an event, `offset_ps` after `origin_ns`; nothing for impossible times. Both
/// ends are rounded, half up, so that events that touch in the file touch here.
[[nodiscard]] std::optional<Interval> IntervalOf(std::int64_t origin_ns, std::int64_t offset_ps,
                                                 std::int64_t duration_ps);

}  // namespace orrery::ingest::xplane
