#pragma once

#include <span>

#include "orrery/trace/collective/matched_collectives.h"

namespace orrery::trace {

/// Records with the same members.
struct MemberSet {
  std::vector<std::uint32_t> ranks;      // places in the set of traces, in order of rank
  std::vector<std::uint32_t> instances;  // in order of begin
};

/// The fitted clocks, one value for each trace of the set.
struct ClockModel {
  std::vector<std::uint32_t> clock;     // given
  std::vector<std::int64_t> origin_ns;  // given: drift counts from here, on the rank's clock
  std::vector<double> offset_ns;        // the same for all ranks of a clock
  std::vector<double> drift;            // likewise; ns per ns
  std::vector<double> own_offset_ns;    // of the rank alone
  std::vector<double> deviation_ns;     // median absolute deviation of the rank's ends
};

/// Fits the clocks of ranks whose records all have the same members.
void FitOneGroup(const MatchedCollectives& matched, const MemberSet& group, ClockModel& model);

/// Fits the clocks connected by several groups of ranks; the clock of the lowest rank stays at 0.
void FitGroups(const MatchedCollectives& matched, std::span<const MemberSet* const> groups,
               ClockModel& model);

}  // namespace orrery::trace
