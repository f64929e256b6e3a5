#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "orrery/api/fields/documents.h"
#include "orrery/memory/timeline/comparison.h"
#include "orrery/memory/timeline/history.h"
#include "orrery/memory/timeline/timeline.h"
#include "orrery/trace/trace.h"

namespace orrery::api {

/// A rank with what was found of its memory; the timelines are those of its places.
struct RankMemory {
  std::string recording;  // its title
  const trace::Trace* trace = nullptr;
  memory::timeline::MemoryHistory history;
  std::vector<memory::timeline::Timeline> timelines;
};

/// The peaks: one line for each place of each rank, then what is in use at them by category, by
/// site, object by object and in groups of equal objects, and the curves for programs, at the
/// points that are drawn or at all.
[[nodiscard]] std::vector<Document::Table> PeakTables(const std::vector<RankMemory>& ranks,
                                                      std::size_t top, bool has_all_points);

[[nodiscard]] Document::Table GroupTable(const memory::timeline::RankSpread& spread);

[[nodiscard]] Document::Table AlignedTable(const memory::timeline::Alignment& alignment,
                                           std::size_t top);

/// The memory of layers, as lines over the axis, with the peak marked.
[[nodiscard]] Document::Picture LayerPicture(const memory::timeline::Timeline& timeline,
                                             memory::timeline::Axis axis, const std::string& title);

/// Returns the categories of all ranks that have a colour of their own, and "other" for the rest.
[[nodiscard]] std::vector<draw::Series> CategoriesOf(const std::vector<RankMemory>& ranks);

/// The memory of categories, as columns over the axis, each in its colour of `categories`.
[[nodiscard]] Document::Picture CategoryPicture(const memory::timeline::Timeline& timeline,
                                                memory::timeline::Axis axis,
                                                const std::string& title,
                                                const std::vector<draw::Series>& categories);

}  // namespace orrery::api
