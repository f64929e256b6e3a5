#pragma once

#include <cstddef>
#include <vector>

#include "orrery/analyze/straggler/operation_table.h"
#include "orrery/base/error.h"

namespace orrery::analyze {

/// Operations that end together: one transfer. Of one data-parallel rank, or over all of them.
struct OperationGroup {
  std::vector<std::size_t> members;  // OperationTable::operations
  bool spans_dp_ranks = false;
  bool synchronises = false;  // else one operation of its own
};

/// The dependencies among the operations of a data-parallel rank.
struct TimelineDependencies {
  std::vector<std::vector<std::size_t>> before;  // by operation: those that it waits for
  std::vector<OperationGroup> groups;            // each after those that it waits for
};

/// Finds them by the published rules, from the first data-parallel rank in the first step. Fails
/// where sends and receives do not match or the starts contradict the rules.
[[nodiscard]] Result<TimelineDependencies> FindDependencies(const OperationTable& table);

}  // namespace orrery::analyze
