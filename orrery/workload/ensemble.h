#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "orrery/network/topology.h"
#include "orrery/workload/program.h"

namespace orrery::workload {

using Rank = std::uint32_t;
using GroupId = std::uint32_t;
using ProgramId = std::uint32_t;

inline constexpr GroupId kNoGroup = 0xFFFFFFFF;

/// All ranks of a job: who runs which program on which GPU, and the groups in which they talk.
/// Programs are shared by the ranks that run them. All programs have the same roles.
struct Ensemble {
  std::vector<Program> programs;

  // By rank.
  std::vector<ProgramId> program_of_rank;
  std::vector<network::GpuId> gpu_of_rank;
  std::vector<double> slowness_of_rank;  // 1: as priced; 1.3: kernels take 1.3 times as long
  std::vector<GroupId> group_of_role;    // rank · num_roles + role; kNoGroup: it has none

  // By group: members[offsets[g]] … members[offsets[g + 1] - 1], in the order of the group.
  std::vector<std::uint32_t> group_offsets = {0};
  std::vector<Rank> group_members;

  std::uint32_t num_roles = 0;

  // By program: the stage of the pipeline that it is of. Empty: program p is that of stage p.
  std::vector<std::uint32_t> stage_of_program = {};

  // False: nobody said of which stages programs are; they are those of some ranks.
  bool knows_stages = true;

  [[nodiscard]] std::uint32_t StageOf(ProgramId program) const {
    return stage_of_program.empty() ? program : stage_of_program[program];
  }

  [[nodiscard]] std::uint32_t num_ranks() const {
    return static_cast<std::uint32_t>(program_of_rank.size());
  }

  [[nodiscard]] std::uint32_t num_groups() const {
    return static_cast<std::uint32_t>(group_offsets.size() - 1);
  }

  [[nodiscard]] GroupId GroupOf(Rank rank, std::uint32_t role) const {
    return group_of_role[static_cast<std::size_t>(rank) * num_roles + role];
  }

  [[nodiscard]] std::span<const Rank> Members(GroupId group) const {
    return std::span(group_members)
        .subspan(group_offsets[group], group_offsets[group + 1] - group_offsets[group]);
  }

  /// Adds a group; its members must then be told by setting `group_of_role`.
  GroupId AddGroup(std::span<const Rank> members) {
    group_members.insert(group_members.end(), members.begin(), members.end());
    group_offsets.push_back(static_cast<std::uint32_t>(group_members.size()));
    return num_groups() - 1;
  }
};

}  // namespace orrery::workload
