#include "orrery/workload/recorded/traced_ensemble.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include <fmt/core.h>

#include "orrery/workload/recorded/group_role_union.h"
#include "orrery/workload/recorded/world_growth.h"

namespace orrery::workload {
namespace {

class GroupWriter {
 public:
  GroupWriter(const TracedGroupRoles& roles, const WorldGrowth& growth, Ensemble& ensemble)
      : roles_(roles), growth_(growth), ensemble_(ensemble) {
    const Program& first = ensemble.programs.front();
    ensemble.num_roles = static_cast<std::uint32_t>(first.roles.size());
    ensemble.group_of_role.assign(std::size_t{ensemble.num_ranks()} * ensemble.num_roles, kNoGroup);
    for (std::uint32_t role = 0; role < ensemble.num_roles; ++role) {
      number_of_role_.emplace(first.strings.View(first.roles[role]), role);
    }
    for (const Program& program : ensemble.programs) {
      std::vector<std::uint8_t>& speaks = speaks_.emplace_back(ensemble.num_roles);
      for (const std::uint32_t role : program.communications.role) {
        speaks[role] = 1;
      }
    }
  }

  void AddAll(std::vector<std::string>& remarks) {
    for (const auto& [name, number] : number_of_role_) {
      AddRole(roles_.roles().find(name)->second, number);
    }
    for (const auto& [name, number] : number_of_role_) {
      if (const Rank alone = CountAlone(number); alone > 0) {
        remarks.push_back(fmt::format(
            "{} ranks have nobody to talk to on '{}': their communications there take no time.",
            alone, name));
      }
    }
  }

 private:
  void AddRole(const TracedGroupRole& role, std::uint32_t number) {
    switch (role.form) {
      case TracedGroupRole::Form::kShaped:
        AddShaped(growth_.ShapeOf(role.shape), number);
        return;
      case TracedGroupRole::Form::kListed:
        AddGroup(role.listed, number);
        return;
      case TracedGroupRole::Form::kSend:
        AddPairs(role, number);
        return;
      case TracedGroupRole::Form::kReceive:  // with what is sent
        return;
    }
  }

  void AddShaped(const GroupShape& shape, std::uint32_t number) {
    std::vector<Rank> members(shape.size);
    for (Rank rank = 0; rank < ensemble_.num_ranks(); ++rank) {
      if (shape.BaseOf(rank) != rank) {
        continue;
      }
      for (Rank i = 0; i < shape.size; ++i) {
        members[i] = rank + i * shape.stride;
      }
      AddGroup(members, number);
    }
  }

  // If all of them talk on the role.
  void AddGroup(const std::vector<Rank>& members, std::uint32_t number) {
    for (const Rank member : members) {
      if (!Speaks(member, number)) {
        return;
      }
    }
    const GroupId group = ensemble_.AddGroup(members);
    for (const Rank member : members) {
      Set(member, number, group);
    }
  }

  void AddPairs(const TracedGroupRole& role, std::uint32_t number) {
    const auto other = number_of_role_.find(role.other_side);
    if (other == number_of_role_.end()) {
      return;
    }
    const std::int64_t offset = growth_.OffsetOf(role.offset);
    for (Rank from = 0; from < ensemble_.num_ranks(); ++from) {
      const std::int64_t to = from + offset;
      if (to < 0 || to >= ensemble_.num_ranks() || !Speaks(from, number) ||
          !Speaks(static_cast<Rank>(to), other->second)) {
        continue;
      }
      const std::array<Rank, 2> pair{from, static_cast<Rank>(to)};
      const GroupId group = ensemble_.AddGroup(pair);
      Set(pair[0], number, group);
      Set(pair[1], other->second, group);
    }
  }

  [[nodiscard]] bool Speaks(Rank rank, std::uint32_t role) const {
    return rank < ensemble_.num_ranks() && speaks_[ensemble_.program_of_rank[rank]][role] != 0;
  }

  void Set(Rank rank, std::uint32_t role, GroupId group) {
    ensemble_.group_of_role[std::size_t{rank} * ensemble_.num_roles + role] = group;
  }

  [[nodiscard]] Rank CountAlone(std::uint32_t role) const {
    Rank count = 0;
    for (Rank rank = 0; rank < ensemble_.num_ranks(); ++rank) {
      count += Speaks(rank, role) && ensemble_.GroupOf(rank, role) == kNoGroup ? 1 : 0;
    }
    return count;
  }

  const TracedGroupRoles& roles_;
  const WorldGrowth& growth_;
  Ensemble& ensemble_;
  std::map<std::string, std::uint32_t, std::less<>> number_of_role_;
  std::vector<std::vector<std::uint8_t>> speaks_;  // by program and role
};

void AddRanks(const TracedJob& job, const WorldGrowth& growth, Ensemble& ensemble) {
  std::vector<ProgramId> program_of_traced(job.world);
  for (std::size_t traced = 0; traced < job.ranks.size(); ++traced) {
    for (const Rank rank : job.ranks[traced].stands_for) {
      program_of_traced[rank] = static_cast<ProgramId>(traced);
    }
  }
  for (Rank rank = 0; rank < growth.world(); ++rank) {
    ensemble.program_of_rank.push_back(program_of_traced[growth.TracedRankOf(rank)]);
    ensemble.gpu_of_rank.push_back(static_cast<network::GpuId>(rank));
    ensemble.slowness_of_rank.push_back(1);
  }
}

// A traced rank is of the stage that its coordinate in the mesh says.
void NumberStages(const TracedJob& job, Ensemble& ensemble) {
  const auto pipeline = std::ranges::find(job.mesh, "pp", &MeshDimension::name);
  ensemble.knows_stages = pipeline != job.mesh.end() && pipeline->size > 1;
  if (!ensemble.knows_stages) {
    return;
  }
  for (const TracedRank& traced : job.ranks) {
    ensemble.stage_of_program.push_back(traced.rank / pipeline->stride % pipeline->size);
  }
}

bool IsOfOptimizer(const Program& program, TaskId task) {
  const PartId part = program.tasks.part[task];
  return program.tasks.kind[task] == TaskKind::kKernel && part != kNone &&
         program.parts.phase[part] == Phase::kOptimizer;
}

// Each rank keeps a smaller or larger share of the states.
void ScaleOptimizer(double factor, Program& program) {
  for (TaskId task = 0; task < program.tasks.size(); ++task) {
    if (IsOfOptimizer(program, task)) {
      program.tasks.duration_ps[task] =
          std::llround(static_cast<double>(program.tasks.duration_ps[task]) * factor);
    }
  }
}

}  // namespace

Result<TracedEnsemble> EnsembleOfTracedJob(const TracedJob& job, const TracedGroupRoles& roles,
                                           std::vector<Program> programs, Rank world) {
  ORRERY_TRY(const WorldGrowth growth, WorldGrowth::Of(job, roles, world));
  TracedEnsemble traced;
  if (!growth.IsSame()) {
    traced.remarks.push_back(fmt::format(
        "{} data-parallel ranks instead of the {} that were traced; kernels and what a rank "
        "exchanges stay as recorded.",
        growth.new_width(), growth.old_width()));
  }
  if (!growth.IsSame() && job.is_sharded && growth.grows_shards()) {
    const double factor = static_cast<double>(growth.old_width()) / growth.new_width();
    for (Program& program : programs) {
      ScaleOptimizer(factor, program);
    }
    traced.remarks.push_back(fmt::format(
        "The optimizer's kernels take {:.3g} times what they took: each rank keeps that share of "
        "the states it had.",
        factor));
  }
  UniteGroupRoles(programs);
  traced.ensemble.programs = std::move(programs);
  AddRanks(job, growth, traced.ensemble);
  NumberStages(job, traced.ensemble);
  GroupWriter(roles, growth, traced.ensemble).AddAll(traced.remarks);
  return traced;
}

}  // namespace orrery::workload
