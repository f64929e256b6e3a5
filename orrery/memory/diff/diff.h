#pragma once

#include "orrery/memory/timeline/timeline.h"
#include "orrery/trace/trace.h"

namespace orrery::memory::diff {

/// All launches of one kernel. Bytes are those of launches that were counted; `num_counted` says
/// how many that are.
struct KernelTraffic {
  std::int64_t num_launches = 0;
  std::int64_t num_counted = 0;
  std::int64_t time_ns = 0;
  std::int64_t read_bytes = 0;
  std::int64_t write_bytes = 0;

  bool operator==(const KernelTraffic&) const = default;
};

struct KernelChange {
  std::string name;
  KernelTraffic before;
  KernelTraffic after;

  [[nodiscard]] std::int64_t TrafficDifference() const {
    return after.read_bytes + after.write_bytes - before.read_bytes - before.write_bytes;
  }
};

/// Kernels by name, those whose traffic differs most first, then by launches, then by name.
[[nodiscard]] std::vector<KernelChange> CompareKernels(const trace::Trace& before,
                                                       const trace::Trace& after);

/// The memory of one site at the peaks of two recordings. Pieces of equal size are matched.
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
