#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "orrery/analyze/communication_parts.h"
#include "orrery/analyze/run_view.h"

namespace orrery::analyze {

/// Returns the ranks that a matched collective joins: of its group, also those that were not
/// recorded; the two of a message.
[[nodiscard]] std::vector<std::int32_t> RanksOfInstance(const RunView& run, std::size_t instance);

/// Whether all ranks are on one node of `ranks_per_node` ranks that follow each other.
[[nodiscard]] bool AreOnOneNode(const std::vector<std::int32_t>& ranks,
                                std::int64_t ranks_per_node);

/// Whether a collective stays inside a node: by the card's `count_per_node`, else by the host names
/// of the recorded members; nothing where neither is known.
[[nodiscard]] std::optional<bool> IsInsideNode(const RunView& run, const CollectiveRecord& record);

}  // namespace orrery::analyze
