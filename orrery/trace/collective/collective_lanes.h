#pragma once

#include "orrery/trace/collective/matched_collectives.h"

namespace orrery::trace {

/// A collective of one rank: one row, or several that one kernel served (a coalesced call).
struct CollectiveEvent {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t bytes = -1;  // message size, of coalesced calls the sum
  std::int64_t size = -1;   // for comparison between ranks: bytes, else elements
  RowId row = kNoRow;       // the first of its rows
  CollectiveKind kind = CollectiveKind::kUnknown;
  DataType data_type = DataType::kUnknown;
  bool on_device = false;  // the times are of kernels, not of a call
};

/// The kind of events of a lane.
enum class LaneUse : std::uint8_t {
  kCollective,  // one event of each rank of the group
  kExchange,    // sends and receives whose peers are not known: as a collective
  kPair,        // sends of one rank to another, and the receives there
};

/// The events of one rank in a lane, in order of begin.
struct LaneMember {
  std::uint32_t rank_index = 0;
  std::vector<CollectiveEvent> events;
};

/// Events of several ranks that are matched with each other. Members are in order of rank;
/// in a pair the sender comes first.
struct CollectiveLane {
  std::uint32_t group = 0;  // index of CollectiveLanes::groups
  LaneUse use = LaneUse::kCollective;
  bool group_known = false;  // else the lane is a stream
  std::vector<LaneMember> members;
};

/// The rows of a rank that can be matched.
struct RankRows {
  std::vector<RowId> first_row_of_event;  // for each row; kNoRow when it is left out
  std::int64_t num_without_kernels = 0;   // left out: the rank has kernels, this call none
  std::int64_t num_in_groups_of_one = 0;  // left out: no peers
};

struct CollectiveLanes {
  std::vector<CollectiveGroup> groups;
  std::vector<CollectiveLane> lanes;
  std::vector<RankRows> ranks;  // as TraceSet::ranks
};

/// Sorts the collectives of all ranks into lanes, whatever the order of the ranks in the set.
[[nodiscard]] CollectiveLanes SortIntoLanes(const TraceSet& set);

/// Returns the event of a single row.
[[nodiscard]] CollectiveEvent EventOfRow(const Trace& trace, RowId row);

/// Returns whether one kernel served the row and the event before it, or an overlapping one with
/// the same sequence number: parts of a coalesced call.
[[nodiscard]] bool IsPartOf(const Trace& trace, RowId row, const CollectiveEvent& event);

/// Adds a row to a coalesced call: sizes add up, an unknown size makes the sum unknown.
void AddPart(const Trace& trace, RowId row, CollectiveEvent& event);

/// Returns whether all members of such a collective state the same message size.
[[nodiscard]] bool HasCommonSize(CollectiveKind kind);

/// Chooses the rows that can have a counterpart: those with kernels when the rank has any; never
/// those of a group of one rank. The others get kNoRow.
[[nodiscard]] RankRows SelectRows(const Trace& trace);

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
