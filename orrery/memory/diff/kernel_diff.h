#pragma once

#include <cstdint>
#include <string>
#include <vector>

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

}  // namespace orrery::memory::diff
