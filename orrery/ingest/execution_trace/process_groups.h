#pragma once

#include <cstdint>
#include <string>

#include "orrery/trace/trace.h"

namespace orrery::ingest::execution_trace {

/// What a communication call says about its group.
struct GroupReference {
  std::string name = {};
  std::string description = {};
  std::uint64_t communicator = 0;  // a pointer of this process: old files have nothing else
  std::int32_t num_ranks = -1;
  std::int32_t rank_start = -1;
  std::int32_t rank_stride = -1;

  [[nodiscard]] bool is_named() const { return !name.empty() || communicator != 0; }
};

/// Fills `process_groups`, world size and backend from the nodes `## process_group:init ##`.
void ReadDeclaredGroups(trace::Trace& trace);

/// Returns the group that a call means, with what the call knows filled in; adds it if it is new.
/// A call that does not say belongs to the only group, where there is one, else to none.
[[nodiscard]] RowId ResolveGroup(trace::Trace& trace, const GroupReference& reference);

/// Returns the global rank of member `rank_in_group`, -1 if the group does not tell.
[[nodiscard]] std::int32_t GlobalRank(const trace::Trace& trace, RowId group,
                                      std::int32_t rank_in_group);

}  // namespace orrery::ingest::execution_trace
