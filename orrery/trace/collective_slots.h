#pragma once

#include <cstdint>
#include <vector>

#include "orrery/trace/collective_lanes.h"
#include "orrery/trace/matched_collectives.h"
#include "orrery/trace/trace_set.h"

namespace orrery::trace {

inline constexpr std::uint32_t kNoSlot = 0xFFFFFFFF;

/// The slots of one member of a lane.
struct MemberSlots {
  std::vector<std::uint32_t> slot_of_event;  // kNoSlot: no counterpart
  MatchRule rule = MatchRule::kSequenceNumber;
  bool ambiguous = false;
  bool search_cut = false;  // a limit stopped the search
};

/// Events of a lane in the same slot are one collective.
struct LaneSlots {
  std::vector<MemberSlots> members = {};  // as CollectiveLane::members
  std::uint32_t num_slots = 0;
};

/// Assigns the events of a lane with at least two members to slots, by the first rule that all its
/// members support.
[[nodiscard]] LaneSlots AssignSlots(const TraceSet& set, const CollectiveLane& lane);

}  // namespace orrery::trace
