#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/analyze/run_view.h"
#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"

namespace orrery::analyze::diff {

/// A collective of a run, of all its ranks; of one rank where no counterpart was recorded.
struct TimedCollective {
  CollectiveKind kind = CollectiveKind::kUnknown;
  std::int64_t bytes = -1;       // -1: not recorded
  std::int64_t num_ranks = -1;   // of its group
  std::int64_t step = -1;        // place among the steps of its first rank; -1: before all of them
  std::uint32_t rank_index = 0;  // its first rank, of TraceSet::ranks
  std::int32_t rank = 0;         // the number of that rank
  RowId row = kNoRow;            // Collectives of that rank
  std::int64_t begin_ns = 0;     // of the first rank that arrives
  std::int64_t transfer_ns = 0;
  std::int64_t wait_ns = 0;  // of the rank that waits longest
};

/// Places in PairedCollectives::before and ::after.
struct CollectivePair {
  std::uint32_t before = 0;
  std::uint32_t after = 0;

  bool operator==(const CollectivePair&) const = default;
};

/// The collectives of two runs that are the same one.
struct PairedCollectives {
  std::vector<TimedCollective> before;  // in order of begin
  std::vector<TimedCollective> after;
  std::vector<CollectivePair> pairs = {};  // in order of `before`

  /// Returns true if both runs communicate, but have no collective in common.
  [[nodiscard]] bool HasNothingInCommon() const {
    return pairs.empty() && !before.empty() && !after.empty();
  }
};

/// Pairs the k-th collective of a kind, a message size and a number of ranks in a step with the
/// k-th such one of the other run, in the step of the same place. Those of the same first rank come
/// first, so that of groups that communicate at a time each finds itself. Where a run has no steps,
/// all of both runs are one. O(n log n) in the collectives, linear in the kernels.
[[nodiscard]] PairedCollectives PairCollectives(const RunView& before, const RunView& after);

/// One sentence for two runs of which HasNothingInCommon.
[[nodiscard]] std::string NothingInCommonSentence(const std::string& before,
                                                  const std::string& after);

}  // namespace orrery::analyze::diff
