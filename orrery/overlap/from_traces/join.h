#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "orrery/base/common_subsequence.h"
#include "orrery/base/error.h"
#include "orrery/overlap/from_traces/run_kernels.h"

namespace orrery::overlap::from_traces {

/// What tells kernels of two recordings apart.
enum class JoinBy : std::uint8_t {
  kWholeName,     // name as demangled, grid and block
  kFunctionName,  // FunctionName, grid and block: recordings of tools that write names differently
};

/// Which kernels of two recordings are the same. Positions in RunKernels::kernels.
struct Join {
  std::vector<IndexPair> matched;  // first: alone, second: together; in order of the latter
  std::vector<std::uint32_t> only_alone;
  std::vector<std::uint32_t> only_together;

  /// Of the kernels of both.
  [[nodiscard]] double MatchedShare() const;
};

/// The least MatchedShare with which a join is trusted.
inline constexpr double kLeastMatched = 0.95;

/// Aligns the kernels stream by stream, each a longest common subsequence, so that kernels which
/// are missing on one side shift nothing. Streams are paired by number, those that are left by how
/// many kernels they have; where one recording has a single stream, all of the other's count as
/// one, in order of begin. Fails below kLeastMatched, and names what does not match.
[[nodiscard]] Result<Join> JoinKernels(const RunKernels& alone, const RunKernels& together,
                                       JoinBy by);

}  // namespace orrery::overlap::from_traces
