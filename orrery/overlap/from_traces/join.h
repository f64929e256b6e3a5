#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "orrery/base/common_subsequence.h"
#include "orrery/base/error.h"
#include "orrery/overlap/from_traces/run_kernels.h"

namespace orrery::overlap::from_traces {

/// The identity of kernels in two recordings.
enum class JoinBy : std::uint8_t {
  kWholeName,     // name as demangled, grid and block
  kFunctionName,  // FunctionName, grid and block: recordings of tools that write names differently
};

/// Matching kernels of two recordings. Positions in RunKernels::kernels.
struct Join {
  std::vector<IndexPair> matched;  // first: alone, second: together; in order of the latter
  std::vector<std::uint32_t> only_alone;
  std::vector<std::uint32_t> only_together;

  /// Share of the kernels of both.
  [[nodiscard]] double MatchedShare() const;
};

/// The minimum MatchedShare of an accepted join.
inline constexpr double kLeastMatched = 0.95;

/// Aligns the kernels stream by stream, each a longest common subsequence, so that a missing kernel
/// does not shift the rest. Streams are paired by number, the remaining ones by their number of
/// kernels; if one recording has a single stream, all streams of the other are merged in order of
/// begin. Fails below kLeastMatched and names unmatched kernels.
[[nodiscard]] Result<Join> JoinKernels(const RunKernels& alone, const RunKernels& together,
                                       JoinBy by);

}  // namespace orrery::overlap::from_traces
