#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "orrery/network/topology.h"
#include "orrery/workload/program.h"

namespace orrery::workload {

using Rank = std::uint32_t;
using GroupId = std::uint32_t;
using ProgramId = std::uint32_t;

inline constexpr GroupId kNoGroup = 0xFFFFFFFF;

/// All ranks of a job: their programs, GPUs and process groups. Ranks share programs; all programs
/// have the same roles.
struct Ensemble {
  std::vector<Program> programs;

  // By rank.
  std::vector<ProgramId> program_of_rank;
  std::vector<network::GpuId> gpu_of_rank;
  std::vector<double> slowness_of_rank;  // 1.3: kernels take 1.3 times their estimates
  std::vector<GroupId> group_of_role;    // rank · num_roles + role; kNoGroup: none

  // By group: members[offsets[g]] … members[offsets[g + 1] - 1], in the order of the group.
  std::vector<std::uint32_t> group_offsets = {0};
  std::vector<Rank> group_members;

  std::uint32_t num_roles = 0;

  // By program: its pipeline stage. Empty: program p is that of stage p.
  std::vector<std::uint32_t> stage_of_program = {};

  // False: the stages of the programs are unknown.
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

  void SetGroup(Rank rank, std::uint32_t role, GroupId group) {
    group_of_role[static_cast<std::size_t>(rank) * num_roles + role] = group;
  }

  /// Sets the number of roles; no rank has a group yet.
  void SetRoles(std::uint32_t count) {
    num_roles = count;
    group_of_role.assign(static_cast<std::size_t>(num_ranks()) * count, kNoGroup);
  }

  /// Adds a group without telling its members' roles: see SetGroup.
  GroupId AddGroup(std::span<const Rank> members) {
    group_members.insert(group_members.end(), members.begin(), members.end());
    group_offsets.push_back(static_cast<std::uint32_t>(group_members.size()));
    return num_groups() - 1;
  }

  /// Adds a group that all its members have on one role.
  void AddGroup(std::span<const Rank> members, std::uint32_t role) {
    const GroupId group = AddGroup(members);
    for (const Rank member : members) {
      SetGroup(member, role, group);
    }
  }

  /// Adds a rank that runs at the estimated speed.
  void AddRank(ProgramId program, network::GpuId gpu) {
    program_of_rank.push_back(program);
    gpu_of_rank.push_back(gpu);
    slowness_of_rank.push_back(1);
  }
};

}  // namespace orrery::workload
