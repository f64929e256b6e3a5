#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/table.h"
#include "orrery/memory/join/plain_time.h"
#include "orrery/memory/overhead.h"
#include "orrery/report/memory_page.h"

namespace orrery::cli {

/// What a recorded run took.
struct RunOverhead {
  std::string title;
  memory::OverheadSummary summary;
  std::int64_t step_ns = 0;                     // 0: no steps
  std::optional<memory::PlainTime> plain = {};  // against a run without recording

  /// How many times longer the program took; nothing where its time without recording is unknown.
  [[nodiscard]] Table::Cell OverExecution() const;
};

/// What each recording cost, against no recording and against the first.
[[nodiscard]] report::MemoryTable RunTable(const std::vector<RunOverhead>& runs,
                                           double tolerance_percent);

/// What the recorders measured of themselves.
[[nodiscard]] report::MemoryTable PartTable(const std::vector<RunOverhead>& runs);

/// Where the time of a piece of each program went (Figure 10); no rows where no plain time is
/// known.
[[nodiscard]] report::MemoryTable PieceTable(const std::vector<RunOverhead>& runs);

}  // namespace orrery::cli
