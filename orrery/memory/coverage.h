#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"

namespace orrery::memory {

inline constexpr std::size_t kNumCoverages = 5;

/// Returns "exact", "by argument", "by descriptor", "partial" or "unseen".
[[nodiscard]] std::string_view CoverageName(trace::Coverage coverage);

/// Returns what a coverage row counts, in words: "launches skipped".
[[nodiscard]] std::string_view CoverageKindName(trace::CoverageKind kind);

/// How well the launches of a recording were seen. Kernels only: copies and sets say themselves
/// what they touch. A kernel that no observation names was not seen.
struct LaunchCoverage {
  struct Share {
    std::int64_t num_launches = 0;
    std::int64_t time_ns = 0;
    std::int64_t num_with_times = 0;  // launches

    bool operator==(const Share&) const = default;
  };

  std::array<Share, kNumCoverages> by_coverage = {};  // in the order of trace::Coverage

  [[nodiscard]] const Share& Of(trace::Coverage coverage) const {
    return by_coverage[static_cast<std::size_t>(coverage)];
  }

  [[nodiscard]] Share Total() const;

  LaunchCoverage& operator+=(const LaunchCoverage& other);

  bool operator==(const LaunchCoverage&) const = default;
};

[[nodiscard]] LaunchCoverage CoverageOf(const trace::Trace& trace);

/// Returns the line that goes with every result: "coverage: 12 launches: 9 exact (80.0 % of kernel
/// time), 3 unseen (20.0 %)"; without the shares where no kernel has a time, and with how many
/// launches they are of where some have none.
[[nodiscard]] std::string CoverageLine(const LaunchCoverage& coverage);

}  // namespace orrery::memory
