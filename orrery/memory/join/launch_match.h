#pragma once

#include <span>

#include "orrery/base/text/common_subsequence.h"
#include "orrery/trace/trace.h"

namespace orrery::memory {

/// Equal positions of two sequences.
struct SequenceAlignment {
  std::vector<IndexPair> pairs = {};  // in order
  bool is_cut = false;                // the rest after the pairs differs too much to be aligned
};

/// Aligns two sequences: common prefix and suffix as they stand, the middle by a longest common
/// subsequence. Equal sequences cost one pass, and so does a rest that only one of them has.
[[nodiscard]] SequenceAlignment AlignSequences(std::span<const std::uint64_t> first,
                                               std::span<const std::uint64_t> second);

/// The same device work of two runs.
struct LaunchMatch {
  std::vector<RowId> partners = {};  // of each activity of the first run; or kNoRow
  std::int64_t num_only_second = 0;
  bool is_cut = false;
};

/// Matches kernels, memcpys and memsets of two runs of one program by launch order, name and size,
/// never by address or time. Devices are paired by number (two single ones in any case). Streams
/// are paired where a device has as many in both runs: by number if these are equal, else in order
/// of their first work. Otherwise all streams of the device form one sequence.
[[nodiscard]] LaunchMatch MatchLaunches(const trace::Trace& first, const trace::Trace& second);

}  // namespace orrery::memory
