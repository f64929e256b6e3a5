#pragma once

#include <span>
#include <vector>

#include "orrery/trace/problems.h"
#include "orrery/compat/simai/workload.h"

namespace orrery::compat::simai {

/// The rows of a workload by when they run. Points into the workload.
struct SimaiRows {
  std::vector<const SimaiLayer*> around;                     // forward first, the rest at the end
  std::vector<std::vector<const SimaiLayer*>> microbatches;  // each from the first layer on
  std::vector<const SimaiLayer*> last;                       // of the optimizer
};

/// Sorts rows as EnsembleOfSimai describes. A number of micro-batches that is not the announced one
/// is noted, and the written one counts.
[[nodiscard]] SimaiRows RowsOf(const SimaiWorkload& workload, trace::ProblemLog& problems);

/// The rows of one chunk out of `chunks`: as equal in number as can be.
[[nodiscard]] std::span<const SimaiLayer* const> ChunkOf(std::span<const SimaiLayer* const> rows,
                                                         int chunk, int chunks);

}  // namespace orrery::compat::simai
