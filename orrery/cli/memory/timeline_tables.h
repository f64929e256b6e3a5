#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "orrery/memory/timeline/alignment.h"
#include "orrery/memory/timeline/history.h"
#include "orrery/memory/timeline/rank_spread.h"
#include "orrery/memory/timeline/timeline.h"
#include "orrery/report/document.h"
#include "orrery/trace/trace.h"

namespace orrery::cli {

/// A rank with what was found of its memory; the timelines are those of its places.
struct RankMemory {
  std::string recording;  // its title
  const trace::Trace* trace = nullptr;
  memory::timeline::MemoryHistory history;
  std::vector<memory::timeline::Timeline> timelines;
};

/// One line for each place of each rank.
[[nodiscard]] report::Document::Table TimelineTable(const std::vector<RankMemory>& ranks);

// What is in use at the peaks: by site, by category, and object by object.
[[nodiscard]] report::Document::Table SiteTable(const std::vector<RankMemory>& ranks,
                                                std::size_t top);
[[nodiscard]] report::Document::Table CategoryTable(const std::vector<RankMemory>& ranks);
[[nodiscard]] report::Document::Table OwnerTable(const std::vector<RankMemory>& ranks,
                                                 std::size_t top);

/// The curves, at the points that are drawn or at all of them; only for programs.
[[nodiscard]] report::Document::Table CurveTable(const std::vector<RankMemory>& ranks,
                                                 bool has_all_points);

[[nodiscard]] report::Document::Table GroupTable(const memory::timeline::RankSpread& spread);

[[nodiscard]] report::Document::Table AlignedTable(const memory::timeline::Alignment& alignment,
                                                   std::size_t top);

}  // namespace orrery::cli
