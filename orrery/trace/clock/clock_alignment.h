#pragma once

#include <cstddef>
#include <type_traits>

#include "orrery/trace/collective/matched_collectives.h"

namespace orrery::trace {

enum class AlignClocks : std::uint8_t {
  kIfItMatters,  // an offset above 20 µs and three times its scatter, or a drift above 20 µs
  kAlways,
  kNever,
};

/// The offset and drift of a rank's clock against those of the other ranks of its component.
struct RankClock {
  std::uint32_t clock = 0;      // ranks that read the same clock have the same number
  std::uint32_t component = 0;  // offsets of different components cannot be compared
  double own_offset_ns = 0;     // from the ends of this rank alone
  std::int64_t offset_ns = 0;   // of its clock: subtract it
  double deviation_ns = 0;      // median absolute deviation of the rank's ends from it
  std::int64_t num_records = 0;
  std::int64_t drift_ps_per_s = 0;   // growth of the offset; 0 unless it is worth correcting
  std::int64_t drift_origin_ns = 0;  // time on this rank's clock at which the offset holds
  bool apply = false;

  bool operator==(const RankClock&) const = default;
};

struct ClockAlignment {
  std::vector<RankClock> ranks;  // as TraceSet::ranks
  std::uint32_t num_components = 0;
  ProblemLog problems = {};

  [[nodiscard]] bool applies() const;

  bool operator==(const ClockAlignment&) const = default;
};

/// Returns for each trace of the set the number of its clock. Ranks of one host that count from
/// 1970 read the same clock; any other rank has its own. The host is the trace's host name, else
/// the node that the card's devices per node put it on. Clocks are numbered in order of their
/// lowest rank.
[[nodiscard]] std::vector<std::uint32_t> ClockOfRank(const TraceSet& set);

/// Estimates clock offsets from the ends of synchronising collectives: all members end within a
/// short time of each other. Uses complete, reliable records, timed by kernels, whose
/// transfer took less than 10 ms. (A large spread of ends is allowed here: offsets cause it.)
///
/// Ranks whose records all have the same members: the offset of a rank is the median of its
/// distance from the median end of each record; a clock takes the median of its ranks. Several
/// groups of ranks: weighted least squares over the median differences between clocks, the clock of
/// the lowest rank at 0. A drift is fitted (Theil-Sen) where at least 8 records span a second.
[[nodiscard]] ClockAlignment EstimateClocks(const TraceSet& set, const MatchedCollectives& matched,
                                            AlignClocks when = AlignClocks::kIfItMatters);

/// Returns the time on the common clock, in integer arithmetic. Later times never come out earlier.
[[nodiscard]] std::int64_t CorrectedTime(const RankClock& clock, std::int64_t time_ns);

/// Replaces every time of a trace by `move(time_ns)`. Durations follow their ends, so that nested
/// rows stay nested. Graph nodes without a time (-1) keep it.
template <typename Move>
void MoveTimes(Trace& trace, Move&& move) {
  ForEachTable(trace, [&]<typename Table>(const char*, Table& table) {
    if constexpr (requires { table.begin_ns; }) {
      constexpr bool kMayLackTime = std::is_same_v<Table, GraphNodes>;
      for (std::size_t row = 0; row < table.size(); ++row) {
        const std::int64_t begin_ns = table.begin_ns[row];
        if (kMayLackTime && begin_ns < 0) {
          continue;
        }
        table.begin_ns[row] = move(begin_ns);
        if constexpr (requires { table.duration_ns; }) {
          if (table.duration_ns[row] > 0) {
            table.duration_ns[row] = move(begin_ns + table.duration_ns[row]) - table.begin_ns[row];
          }
        }
        if constexpr (requires { table.end_ns; }) {
          table.end_ns[row] = move(table.end_ns[row]);
        }
      }
    }
  });
}

/// Corrects every time of every rank whose clock is to be corrected (RankClock::apply). Under drift
/// durations follow their ends, so that nested rows stay nested.
void ApplyAlignment(TraceSet& set, const ClockAlignment& alignment);

/// Matched collectives on aligned clocks.
struct AlignedRun {
  MatchedCollectives matched;
  ClockAlignment alignment;
};

/// Matches collectives, estimates the clocks and applies what matters to all times of the set; then
/// matches once more, since places in the order of time may have changed.
[[nodiscard]] AlignedRun MatchAndAlign(TraceSet& set, AlignClocks when = AlignClocks::kIfItMatters);

}  // namespace orrery::trace
