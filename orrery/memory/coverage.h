#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <optional>
#include <span>

#include "orrery/base/error.h"
#include "orrery/trace/trace.h"

namespace orrery::memory {

inline constexpr std::size_t kNumCoverages = 5;

/// Returns "exact", "by argument", "by descriptor", "partial" or "unseen".
[[nodiscard]] std::string_view CoverageName(trace::Coverage coverage);

/// Returns the meaning of a row of CoverageCounts: "launches skipped".
[[nodiscard]] std::string_view CoverageKindName(trace::CoverageKind kind);

/// The observation coverage of a recording's kernel launches. A kernel without an observation is
/// unseen.
struct LaunchCoverage {
  struct Share {
    std::int64_t num_launches = 0;
    std::int64_t time_ns = 0;
    std::int64_t num_with_times = 0;  // launches

    Share& operator+=(const Share& other);
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

/// Returns the line that accompanies every result: "coverage: 12 launches: 9 exact (80.0 % of
/// kernel time), 3 unseen (20.0 %)". Without shares where no kernel has a duration; "accesses were
/// not recorded" where none was seen.
[[nodiscard]] std::string CoverageLine(const LaunchCoverage& coverage);

/// The data that a memory tool requires in a recording.
enum class Need : std::uint8_t {
  kKernels,       // device work
  kKernelTimes,   // … with durations
  kObjects,       // memory objects and their lifetimes
  kMemoryEvents,  // allocations and frees: events of the framework, or objects
  kTouches,       // accesses of kernels to objects, counted or by argument
  kPages,         // pages accessed by kernels
  kAccesses,      // single accesses
  kOverheads,     // the overhead of the recording
};

/// The kinds of rows of a recording that may be read in pieces, and its coverage.
class RecordedParts {
 public:
  void Add(const trace::Trace& piece);

  [[nodiscard]] const LaunchCoverage& coverage() const { return coverage_; }

  /// Returns nothing where the need is met, else the reason with what the recorder reports: "not
  /// recorded: pages that kernels touch (12 launches skipped: coarse mode)". A recording without
  /// device work and memory meets all needs: every tool reports zeros.
  [[nodiscard]] std::optional<std::string> WhyUnmet(Need need) const;

  /// Fails with the first need that is not met.
  [[nodiscard]] Status Check(std::span<const Need> needs) const;

 private:
  LaunchCoverage coverage_;
  std::string format_;
  std::string reasons_;  // the recorder's reasons for missing data
  std::bitset<10> parts_;
};

/// The same for a whole trace.
[[nodiscard]] Status CheckNeeds(std::span<const Need> needs, const trace::Trace& trace);

}  // namespace orrery::memory
