#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "orrery/analyze/graph/dependency_graph.h"

namespace orrery::analyze {

struct ReplayOptions {
  /// Rendezvous take the median time of their members instead of the latest; who is later than that
  /// starts there.
  bool meets_at_median = false;
  bool keeps_residuals = true;
};

/// Returns when each node happens with other weights (by edge): the latest of its edges and its
/// recorded residual after that. With the graph's own weights every time is as recorded.
///
/// The recorded order on every lane is kept; that kernels slow each other down is not modelled.
[[nodiscard]] std::vector<std::int64_t> Replay(const DependencyGraph& graph,
                                               std::span<const std::int64_t> weight_ns,
                                               const ReplayOptions& options = {});

}  // namespace orrery::analyze
