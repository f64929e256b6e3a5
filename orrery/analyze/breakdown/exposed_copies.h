#pragma once

#include <cstdint>
#include <vector>

#include "orrery/analyze/run_view.h"
#include "orrery/trace/enums.h"

namespace orrery::analyze {

/// Copies of one kind in the selected steps, over all devices.
struct ExposedCopies {
  trace::CopyKind kind = trace::CopyKind::kUnknown;
  std::int64_t exposed_ns = 0;  // while nothing but copies runs
  std::int64_t busy_ns = 0;     // while one of them runs
  std::int64_t bytes = 0;       // of those with a size
  std::int64_t sized_ns = 0;    // while one with a size runs
};

/// Returns what copies leave devices waiting, the most exposed kind first; kinds that overlap each
/// other count each. Memsets are no copies.
[[nodiscard]] std::vector<ExposedCopies> FindExposedCopies(const RunView& run);

}  // namespace orrery::analyze
