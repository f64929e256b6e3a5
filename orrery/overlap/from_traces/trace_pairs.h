#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/overlap/concurrent_kernels.h"
#include "orrery/overlap/from_traces/join.h"
#include "orrery/overlap/from_traces/run_kernels.h"

namespace orrery::overlap::from_traces {

/// Why a pair is not used.
enum class Rejection : std::uint8_t {
  kKept,
  kNoOverlap,
  kShortOverlap,  // below 5 us or 5 % of the duration: too noisy
  kNoSolution,    // it took longer outside of the overlap than alone
  kClock,         // the runs had different clocks here
};

[[nodiscard]] std::string_view RejectionName(Rejection rejection);

/// A kernel in both runs.
struct TracePair {
  std::uint32_t alone = 0;     // position in RunKernels::kernels
  std::uint32_t together = 0;  // …
  double alone_ns = 0;
  double together_ns = 0;
  std::int64_t overlap_ns = 0;  // with the union of communication on its device
  /// s*: while communication runs, the kernel progresses at the rate 1 / (1 + s*).
  double slowdown = kUnknown;
  double echo_slowdown = 0;  // (together - alone) / (ratio · alone), 0 without overlap
  /// The communication with the longest overlap, and the time since its start; -1: none.
  std::int64_t communication = -1;
  std::int64_t since_ns = 0;
  double clock_ratio = 1;  // together / alone of nearby kernels without overlap
  Rejection rejection = Rejection::kKept;

  [[nodiscard]] double OverlapRatio() const {
    return static_cast<double>(overlap_ns) / together_ns;
  }
};

/// s* from D1 alone, D2 together and the part r of D2 that overlaps: (D2 - D1) / (D1 - (1 - r) ·
/// D2). NaN if the kernel took longer outside of the overlap than alone.
[[nodiscard]] double ConsistentSlowdown(double alone_ns, double together_ns, double overlap_ratio);

/// Echo's measure; 0 without overlap.
[[nodiscard]] double EchoSlowdown(double alone_ns, double together_ns, double overlap_ratio);

/// A part of the run with one clock ratio.
struct ClockSegment {
  std::size_t first = 0;  // pair
  std::size_t last = 0;   // … inclusive
  double ratio = 1;       // median of together / alone of its kernels without overlap
  std::size_t kernels = 0;

  [[nodiscard]] bool IsDrifted() const;
};

struct TracePairs {
  std::vector<TracePair> pairs;        // in order of the run together
  std::vector<ClockSegment> segments;  // of the run, one where nothing drifts; empty: not checked
};

/// Derives pairs. Kernels without overlap check the clock: where their running median leaves 1 ± 2
/// % a segment begins, and pairs of drifted segments are rejected.
[[nodiscard]] TracePairs MakePairs(const RunKernels& alone, const RunKernels& together,
                                   const Join& join);

}  // namespace orrery::overlap::from_traces
