#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "orrery/analyze/breakdown/communication_parts.h"
#include "orrery/analyze/run_view.h"

namespace orrery::analyze {

/// Returns the ranks that a matched collective joins: of its group, also those that were not
/// recorded; the two of a message.
[[nodiscard]] std::vector<std::int32_t> RanksOfInstance(const RunView& run, std::size_t instance);

/// Returns true if all ranks are on one node of `ranks_per_node` consecutive ranks.
[[nodiscard]] bool AreOnOneNode(const std::vector<std::int32_t>& ranks,
                                std::int64_t ranks_per_node);

/// Returns true if a collective stays inside a node: by the card's `count_per_node`, else by the
/// host names of the recorded members; nothing if neither is known.
[[nodiscard]] std::optional<bool> IsInsideNode(const RunView& run, const CollectiveRecord& record);

}  // namespace orrery::analyze
