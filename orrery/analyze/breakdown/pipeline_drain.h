#pragma once

#include <cstdint>
#include <vector>

#include "orrery/analyze/run_view.h"

namespace orrery::analyze {

/// The pipeline of each rank, by its place in the set: the lowest place of a rank that messages
/// between stages join it to, its own where there are none.
[[nodiscard]] std::vector<std::uint32_t> PipelinesOf(const RunView& run);

/// Returns how long each row of MatchedCollectives::members waits for the drain of its pipeline in
/// a group that spans stages, such as that of the grad-norm all-reduce. Of a wait, that is as much
/// as the last pass of the latest stage ended later than the rank's own, passes counted since the
/// meeting before. Passes are kernels that compute and are not the optimizer's. Nothing where no
/// pipeline was recorded. What `simulate` does, and reads a rank's classified kernels.
[[nodiscard]] std::vector<std::int64_t> DrainWaits(const RunView& run);

}  // namespace orrery::analyze
