#include "capture/recorder/clock.h"

#include <time.h>

namespace orrery::capture {

std::int64_t EpochClock::now_ns() const noexcept {
  constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * kNanosecondsPerSecond + now.tv_nsec;
}

}  // namespace orrery::capture
