#pragma once

#include <cstdint>
#include <vector>

#include "orrery/trace/trace.h"

namespace orrery::memory {

/// Device work of one stream, or of all streams of a device, in the order in which the host asked
/// for it. Signatures are equal for what can be the same work in two runs: kernels of one name
/// without template arguments, one grid and one block; copies and sets of one kind and size.
struct LaunchSequence {
  std::vector<RowId> rows = {};  // Activities
  std::vector<std::uint64_t> signatures = {};
};

/// Two sequences that are to be aligned.
struct SequencePair {
  LaunchSequence first;
  LaunchSequence second;
};

/// Pairs the device work of two runs of one program. Devices are paired by number (two single ones
/// also without). Tools number streams in their own ways: where a device has as many in both runs
/// they are paired by number, else in order of their first work; otherwise all streams of the
/// device are one sequence. Devices that only one run has are left out.
[[nodiscard]] std::vector<SequencePair> PairSequences(const trace::Trace& first,
                                                      const trace::Trace& second);

}  // namespace orrery::memory
