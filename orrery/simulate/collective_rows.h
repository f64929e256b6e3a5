#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/simulate/compiled_program.h"
#include "orrery/simulate/rank_classes.h"
#include "orrery/simulate/task_rows.h"
#include "orrery/trace/trace.h"

namespace orrery::simulate {

/// Whose trace is written: a rank, and the rank class that simulated it.
struct TracedRank {
  workload::Rank rank = 0;
  RankClassId rank_class = 0;
  bool is_for_class = false;  // its groups are those of the rank classes, not its own
};

/// Writes the groups and collectives of one rank.
class CollectiveRows {
 public:
  CollectiveRows(const RankClasses& rank_classes, const TracedRank& traced, trace::Trace& trace);

  /// The row of a communication that ran as an activity; kNoRow for those without a group.
  RowId Add(const TaskTimes& times, workload::TaskId task, RowId activity);

 private:
  void AddGroups();
  void AddGroup(std::uint32_t role, GroupClassId group_class);
  [[nodiscard]] std::string GroupName(std::uint32_t role, GroupClassId group_class) const;
  [[nodiscard]] workload::GroupId RealGroup(std::uint32_t role, GroupClassId group_class) const;
  [[nodiscard]] std::int32_t PeerOn(std::uint32_t role, GroupClassId group_class) const;
  [[nodiscard]] bool Sends(workload::TaskId task, std::uint32_t role) const;
  void SetSizes(const workload::Communications::Row& row,
                trace::Collectives::Row& collective) const;

  const RankClasses& rank_classes_;
  TracedRank traced_;
  const workload::Program& program_;
  trace::Trace& trace_;
  CompiledProgram compiled_;

  // By role.
  std::vector<RowId> group_of_role_;
  std::vector<std::int32_t> peer_of_role_;  // of pairs
};

}  // namespace orrery::simulate
