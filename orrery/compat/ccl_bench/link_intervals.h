#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/compat/ccl_bench/compat.h"

namespace orrery::compat::ccl_bench {

/// The time between two samples of one link and direction.
struct LinkInterval {
  std::string direction;   // "tx", "rx"
  std::int64_t link = -1;  // -1: the sum over links
  std::int64_t begin_us = 0;
  std::int64_t duration_us = 0;
  std::int64_t bytes = 0;

  [[nodiscard]] double GigabytesPerSecond() const {
    return static_cast<double>(bytes) * 1e6 / static_cast<double>(duration_us) / 1e9;
  }
};

/// Returns the intervals of the first counter file that the options select, direction by direction
/// and link by link in order of time. As in the suite, a failed sample counts as 0 (so a huge
/// interval follows it) and a falling counter as no bytes.
[[nodiscard]] std::vector<LinkInterval> LinkIntervals(const CompatRun& run);

}  // namespace orrery::compat::ccl_bench
