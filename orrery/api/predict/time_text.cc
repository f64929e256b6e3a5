#include "orrery/api/predict/time_text.h"

#include <string>

#include <fmt/core.h>

#include "orrery/learn/interval.h"

namespace orrery::api {

std::string TimeText(double seconds) {
  return seconds < 1e-3 ? fmt::format("{:.2f} us", seconds * 1e6)
                        : fmt::format("{:.3f} ms", seconds * 1e3);
}

std::string TimeText(double seconds, const learn::TimeInterval& interval) {
  return fmt::format("{} (80 % interval {} to {})", TimeText(seconds), TimeText(interval.low_s),
                     TimeText(interval.high_s));
}

}  // namespace orrery::api
