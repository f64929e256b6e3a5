#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "orrery/memory/patterns/finding.h"
#include "orrery/trace/trace.h"

namespace orrery::memory::patterns {

struct PatternReport {
  std::vector<Finding> findings;  // by effect: peak, then byte-seconds, then traffic
  std::int64_t num_objects = 0;   // looked at
  std::int64_t peak_bytes = 0;    // of the device that holds most
};

/// Looks for all patterns. By-argument and by-descriptor touches count as accesses. Costs a few
/// passes over the touches and a logarithm for each question about the peak.
[[nodiscard]] PatternReport FindPatterns(const trace::Trace& trace,
                                         const PatternOptions& options = {});

}  // namespace orrery::memory::patterns
