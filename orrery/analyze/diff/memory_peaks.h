#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orrery/analyze/diff/cost_change.h"
#include "orrery/analyze/run_view.h"

namespace orrery::analyze::diff {

/// The largest use of memory that the framework's allocator reported.
struct MemoryPeak {
  std::string name;  // "gpu allocated", "gpu reserved", "cpu allocated", …
  std::int64_t bytes = 0;
};

/// Returns the peaks over the whole recording, each of the chosen rank that uses most; empty where
/// no memory events were recorded.
[[nodiscard]] std::vector<MemoryPeak> PeakMemory(const RunView& run);

struct MemoryChange {
  std::string name;
  std::optional<std::int64_t> before_bytes = {};  // nothing: not recorded in that run
  std::optional<std::int64_t> after_bytes = {};
  Change change = Change::kUnchanged;
};

/// Joins the peaks of two runs. What only one run recorded is neither added nor deleted: nothing is
/// known of the other.
[[nodiscard]] std::vector<MemoryChange> MatchMemory(const std::vector<MemoryPeak>& before,
                                                    const std::vector<MemoryPeak>& after);

}  // namespace orrery::analyze::diff
