#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "orrery/export/collective_spans.h"
#include "orrery/export/slice_layout.h"

namespace orrery::exporting {

/// The collectives of one process group, where they are drawn.
struct CollectiveRow {
  struct Slice {
    std::size_t span = 0;  // into the list of collectives
    CollectiveFigures figures;
    Lane lane = 0;
  };

  std::string group;
  std::vector<Slice> slices;  // by begin, ties longer first
  Lane num_lanes = 1;
};

/// Sorts collectives into one row for each group, groups in order of first appearance. Collectives
/// without members have no time and are left out.
[[nodiscard]] std::vector<CollectiveRow> LayOutCollectives(
    std::span<const CollectiveSpan> collectives);

}  // namespace orrery::exporting
