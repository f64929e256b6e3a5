#include "orrery/ingest/xplane/interval.h"

namespace orrery::ingest::xplane {
namespace {

constexpr std::int64_t kLargestTime = std::int64_t{1} << 61;

// Half up, also below zero.
std::int64_t ToNanoseconds(std::int64_t picoseconds) {
  const std::int64_t shifted = picoseconds + 500;
  return shifted / 1000 - (shifted % 1000 < 0 ? 1 : 0);
}

}  // namespace

bool IsPlausibleTime(std::int64_t time) {
  return time > -kLargestTime && time < kLargestTime;
}

std::optional<Interval> IntervalOf(std::int64_t origin_ns, std::int64_t offset_ps,
                                   std::int64_t duration_ps) {
  if (!IsPlausibleTime(origin_ns) || !IsPlausibleTime(offset_ps) || !IsPlausibleTime(duration_ps)) {
    return std::nullopt;
  }
  const std::int64_t begin = ToNanoseconds(offset_ps);
  const std::int64_t end = ToNanoseconds(offset_ps + duration_ps);
  return Interval{.begin_ns = origin_ns + begin, .duration_ns = end - begin};
}

}  // namespace orrery::ingest::xplane
