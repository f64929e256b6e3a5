#pragma once

#include <string_view>

#include "orrery/analyze/straggler/slowdown.h"
#include "orrery/base/error.h"
#include "orrery/base/text/table.h"

namespace orrery::analyze {

/// The name of the format of such tables (docs/formats/operation-timeline.md).
inline constexpr std::string_view kOperationTimeline = "operation timeline";

/// Returns the steps of a recorded timeline of operations: columns dp_rank, stage, rank, step,
/// optype, seq_id, start_ns, duration_ns and mc. The graph comes from the first data-parallel rank
/// in the first step and serves all, so each must have the same operations; an error says which has
/// not. Which operation waits for which, and which synchronise, is as published.
[[nodiscard]] Result<OperationSteps> TimelineOperations(const Table& table);

}  // namespace orrery::analyze
