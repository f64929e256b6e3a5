#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::trace {

/// A group of ranks as all its members see it.
struct CollectiveGroup {
  std::string key = {};                    // the same text on every member
  std::int32_t num_ranks = -1;             // -1: no file says
  std::vector<std::int32_t> members = {};  // global ranks, where the file gives all of them

  bool operator==(const CollectiveGroup&) const = default;
};

/// Makes the key from the first of these that a row of ProcessGroups has: name and list of ranks
/// (a cut list with its size), description with size, first rank and stride, communicator (when
/// `communicators_shared`). Nothing when the row does not say what another rank could recognise.
///
/// The name is part of the second form too: two groups may have the same description and members.
[[nodiscard]] std::optional<CollectiveGroup> IdentifyGroup(const Trace& trace, RowId group,
                                                           bool communicators_shared);

/// Returns whether ranks call their communicators alike. Some tools write an id, others the address
/// of an object in the process; ids are those of which at least half are met on several ranks.
[[nodiscard]] bool AreCommunicatorsShared(const TraceSet& set);

/// Returns how many ranks the group has, from its size or its list; -1 when unknown.
[[nodiscard]] std::int32_t GroupSize(const Trace& trace, RowId group);

}  // namespace orrery::trace
