#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/text/common_subsequence.h"
#include "orrery/base/text/table.h"
#include "orrery/overlap/concurrent_kernels.h"
#include "orrery/overlap/nsight_compute.h"
#include "orrery/trace/trace.h"

namespace orrery::overlap::from_traces {

struct RunKernel {
  std::string name;
  std::array<std::int64_t, 3> grid = {};   // zeros if unknown
  std::array<std::int64_t, 3> block = {};  // …
  LaunchShape shape = {};
  std::int32_t device = 0;
  std::int64_t stream = 0;
  std::int64_t begin_ns = 0;
  std::int64_t duration_ns = 0;

  [[nodiscard]] std::int64_t end_ns() const { return begin_ns + duration_ns; }
};

struct RunCommunication {
  std::string name;
  std::string collective = {};  // "all_reduce"; empty if unknown
  std::string algorithm = {};   // "RING", "TREE" … from the kernel's name; empty if unknown
  std::string protocol = {};    // "LL", "LL128", "SIMPLE"
  std::int64_t bytes = -1;
  std::int32_t ranks = -1;
  std::int64_t channels = 0;  // thread blocks; 0 if unknown
  int threads = 0;
  std::int32_t device = 0;
  std::int64_t begin_ns = 0;
  std::int64_t duration_ns = 0;

  [[nodiscard]] std::int64_t end_ns() const { return begin_ns + duration_ns; }
};

/// The kernels of one rank, in order of begin.
struct RunKernels {
  std::vector<RunKernel> kernels;
  std::vector<RunCommunication> communications;
};

/// Memcpys, memsets and kernels without a duration are left out.
[[nodiscard]] RunKernels KernelsOf(const trace::Trace& trace);

/// Individually profiled kernels, as if they had run one after another. Kernels without a duration
/// are left out.
[[nodiscard]] RunKernels KernelsOf(const CountedKernels& counted);

/// Returns the function of a kernel's name: without namespaces, template arguments and parameters.
[[nodiscard]] std::string FunctionName(std::string_view kernel);

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

/// Why a pair is not used.
enum class Rejection : std::uint8_t {
  kKept,
  kNoOverlap,
  kShortOverlap,  // below 5 us or 5 % of the duration: too noisy
  kNoSolution,    // it took longer outside the overlap than alone
  kClock,         // the runs had different clocks here
};

[[nodiscard]] std::string_view RejectionName(Rejection rejection);

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
/// D2). NaN if the kernel took longer outside the overlap than alone.
[[nodiscard]] double ConsistentSlowdown(double alone_ns, double together_ns, double overlap_ratio);

/// Echo's measure; 0 without overlap.
[[nodiscard]] double EchoSlowdown(double alone_ns, double together_ns, double overlap_ratio);

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

struct JoinedRank {
  std::int32_t rank = 0;
  RunKernels alone;
  RunKernels together;
  Join join;
  TracePairs derived;
};

struct KernelMedian {
  std::string kernel;
  std::size_t pairs = 0;
  double alone_us = 0;     // sum
  double together_us = 0;  // sum
  double overlap_us = 0;   // sum
  double slowdown = 0;     // median of s*, by overlapped time
};

/// Joins one rank; `by` as for JoinKernels.
[[nodiscard]] Result<JoinedRank> JoinRank(std::int32_t rank, RunKernels alone, RunKernels together,
                                          JoinBy by);

/// Pairs as a table (docs/formats/overlap-traces.md); counters are joined by function name and
/// launch, then by function name if all its launches are equal.
[[nodiscard]] Table PairTableOf(const std::vector<JoinedRank>& ranks,
                                const CountedKernels* counters);
[[nodiscard]] Table UnmatchedTable(const std::vector<JoinedRank>& ranks);
[[nodiscard]] Table CommunicationTable(const std::vector<JoinedRank>& ranks);

/// By function name, in order of decreasing time with communication.
[[nodiscard]] std::vector<KernelMedian> MediansOf(const std::vector<JoinedRank>& ranks);

[[nodiscard]] Table MedianTable(const std::vector<KernelMedian>& medians);

}  // namespace orrery::overlap::from_traces
