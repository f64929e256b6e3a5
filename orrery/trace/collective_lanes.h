#pragma once

#include <cstdint>
#include <vector>

#include "orrery/trace/collective_groups.h"
#include "orrery/trace/trace_set.h"

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

}  // namespace orrery::trace
