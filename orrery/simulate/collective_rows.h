#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/simulate/cast.h"
#include "orrery/simulate/score.h"
#include "orrery/simulate/task_rows.h"
#include "orrery/trace/trace.h"

namespace orrery::simulate {

/// Whose trace is written: a rank, and the player that played it.
struct TracedRank {
  workload::Rank rank = 0;
  PlayerId player = 0;
  bool is_for_player = false;  // its groups are those of the cast, not its own
};

/// Writes the groups and collectives of one rank.
class CollectiveRows {
 public:
  CollectiveRows(const Cast& cast, const TracedRank& traced, trace::Trace& trace);

  /// The row of a communication that ran as an activity; kNoRow for those without a group.
  trace::RowId Add(const TaskTimes& times, workload::TaskId task, trace::RowId activity);

 private:
  void AddGroups();
  void AddGroup(std::uint32_t slot, CastGroupId cast_group);
  [[nodiscard]] std::string GroupName(std::uint32_t slot, CastGroupId cast_group) const;
  [[nodiscard]] workload::GroupId RealGroup(std::uint32_t slot, CastGroupId cast_group) const;
  [[nodiscard]] std::int32_t PeerOn(std::uint32_t slot, CastGroupId cast_group) const;
  [[nodiscard]] bool Sends(workload::TaskId task, std::uint32_t slot) const;
  void SetSizes(const workload::Communications::Row& row,
                trace::Collectives::Row& collective) const;

  const Cast& cast_;
  TracedRank traced_;
  const workload::Program& program_;
  trace::Trace& trace_;
  Score score_;

  // By slot.
  std::vector<trace::RowId> group_of_slot_;
  std::vector<std::int32_t> peer_of_slot_;  // of pairs
};

}  // namespace orrery::simulate
