#pragma once

#include <string_view>

#include "orrery/trace/trace_set.h"

namespace orrery::trace {

/// The value "true" at this path of a card says that a simulation wrote one trace for ranks that
/// behave alike: members of its groups that have no trace of their own arrive and end with it. A
/// collective that is in only one trace is then complete, without wait time.
inline constexpr std::string_view kFoldedRanks = "simulation.folded_ranks";

/// Returns true if the traces of a set also stand for ranks without a trace.
[[nodiscard]] inline bool HasFoldedRanks(const TraceSet& set) {
  return set.card && set.card->Text(kFoldedRanks) == "true";
}

}  // namespace orrery::trace
