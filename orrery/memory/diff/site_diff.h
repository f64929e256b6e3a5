#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/memory/timeline/timeline.h"

namespace orrery::memory::diff {

/// What one site holds at the peaks of two recordings. Pieces of equal size are matched.
struct SiteChange {
  std::string site;
  std::int64_t before_bytes = 0;
  std::int64_t after_bytes = 0;
  std::int64_t num_same = 0;
  std::int64_t num_only_before = 0;
  std::int64_t num_only_after = 0;

  [[nodiscard]] std::int64_t Difference() const { return after_bytes - before_bytes; }

  bool operator==(const SiteChange&) const = default;
};

/// One side of a comparison: its highest timeline and the lives behind it.
struct PeakSide {
  const timeline::MemoryHistory* history = nullptr;
  const timeline::Timeline* timeline = nullptr;
};

/// Explains the difference of two peaks: the sites' differences add up to it. The largest
/// differences first, ties by name.
[[nodiscard]] std::vector<SiteChange> ComparePeaks(const PeakSide& before, const PeakSide& after);

}  // namespace orrery::memory::diff
