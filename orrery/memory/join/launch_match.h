#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "orrery/base/common_subsequence.h"
#include "orrery/trace/trace.h"

namespace orrery::memory {

/// Which positions of two sequences hold the same.
struct SequenceAlignment {
  std::vector<IndexPair> pairs = {};  // in order
  bool is_cut = false;                // what comes behind the pairs differs too much to be aligned
};

/// Aligns two sequences: what they begin and end with alike as it stands, what is between by a
/// longest common subsequence. Equal sequences cost one pass. Runs of one program differ in a few
/// places; one may also go on for longer, so a rest of which the other has nothing is cheap too.
[[nodiscard]] SequenceAlignment AlignSequences(std::span<const std::uint64_t> first,
                                               std::span<const std::uint64_t> second);

/// Which device work of two runs is the same.
struct LaunchMatch {
  std::vector<RowId> partners = {};  // of each activity of the first run; or kNoRow
  std::int64_t num_only_second = 0;
  bool is_cut = false;
};

/// Matches kernels, copies and sets of two runs of one program by order, name and size, never by
/// address or time.
[[nodiscard]] LaunchMatch MatchLaunches(const trace::Trace& first, const trace::Trace& second);

}  // namespace orrery::memory
