#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "orrery/memory/timeline/timeline.h"
#include "orrery/trace/trace.h"

namespace orrery::memory::timeline {

/// How far peaks lie apart among ranks that form groups of one kind.
struct GroupSpread {
  std::string kind;  // "tensor_parallel"
  std::int64_t num_groups = 0;
  double largest_percent = 0;  // of the largest peak over the smallest, in any group
};

/// How the memory of ranks differs.
struct RankSpread {
  std::int64_t smallest_bytes = 0;
  std::int64_t largest_bytes = 0;
  std::int32_t smallest_rank = -1;
  std::int32_t largest_rank = -1;
  /// Ranks whose changes are the same one by one, in order of their first rank.
  std::vector<std::vector<std::int32_t>> alike;
  /// Kinds of groups of ranks, in order of name.
  std::vector<GroupSpread> groups;

  [[nodiscard]] double Percent() const;
};

/// Compares the devices of all ranks; the host's memory is left out.
[[nodiscard]] RankSpread SpreadOf(std::span<const trace::Trace* const> ranks,
                                  const std::vector<Timeline>& timelines);

}  // namespace orrery::memory::timeline
