#include "orrery/workload/recorded/traced_ensemble.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include <fmt/core.h>

#include "orrery/workload/recorded/traced_group_roles.h"

namespace orrery::workload {
namespace {

class GroupWriter {
 public:
  GroupWriter(const TracedGroupRoles& roles, const WorldGrowth& growth, Ensemble& ensemble)
      : roles_(roles), growth_(growth), ensemble_(ensemble) {
    const Program& first = ensemble.programs.front();
    ensemble.SetRoles(static_cast<std::uint32_t>(first.roles.size()));
    for (std::uint32_t role = 0; role < ensemble.num_roles; ++role) {
      number_of_role_.emplace(first.strings.View(first.roles[role]), role);
    }
    for (const Program& program : ensemble.programs) {
      std::vector<std::uint8_t>& communicates = communicates_.emplace_back(ensemble.num_roles);
      for (const std::uint32_t role : program.communications.role) {
        communicates[role] = 1;
      }
    }
  }

  void AddAll(std::vector<std::string>& remarks) {
    for (const auto& [name, number] : number_of_role_) {
      AddRole(roles_.roles().find(name)->second, number);
    }
    for (const auto& [name, number] : number_of_role_) {
      if (const Rank alone = CountAlone(number); alone > 0) {
        remarks.push_back(
            fmt::format("{} ranks have no peer on '{}': their communications there take no time.",
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

  // If all of them communicate on the role.
  void AddGroup(const std::vector<Rank>& members, std::uint32_t number) {
    if (std::ranges::all_of(members, [&](Rank member) { return Communicates(member, number); })) {
      ensemble_.AddGroup(members, number);
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
      if (to < 0 || to >= ensemble_.num_ranks() || !Communicates(from, number) ||
          !Communicates(static_cast<Rank>(to), other->second)) {
        continue;
      }
      const std::array<Rank, 2> pair{from, static_cast<Rank>(to)};
      const GroupId group = ensemble_.AddGroup(pair);
      ensemble_.SetGroup(pair[0], number, group);
      ensemble_.SetGroup(pair[1], other->second, group);
    }
  }

  [[nodiscard]] bool Communicates(Rank rank, std::uint32_t role) const {
    return rank < ensemble_.num_ranks() &&
           communicates_[ensemble_.program_of_rank[rank]][role] != 0;
  }

  [[nodiscard]] Rank CountAlone(std::uint32_t role) const {
    Rank count = 0;
    for (Rank rank = 0; rank < ensemble_.num_ranks(); ++rank) {
      count += Communicates(rank, role) && ensemble_.GroupOf(rank, role) == kNoGroup ? 1 : 0;
    }
    return count;
  }

  const TracedGroupRoles& roles_;
  const WorldGrowth& growth_;
  Ensemble& ensemble_;
  std::map<std::string, std::uint32_t, std::less<>> number_of_role_;
  std::vector<std::vector<std::uint8_t>> communicates_;  // by program and role
};

void AddRanks(const TracedJob& job, const WorldGrowth& growth, Ensemble& ensemble) {
  std::vector<ProgramId> program_of_traced(job.world);
  for (std::size_t traced = 0; traced < job.ranks.size(); ++traced) {
    for (const Rank rank : job.ranks[traced].stands_for) {
      program_of_traced[rank] = static_cast<ProgramId>(traced);
    }
  }
  for (Rank rank = 0; rank < growth.world(); ++rank) {
    ensemble.AddRank(program_of_traced[growth.TracedRankOf(rank)],
                     static_cast<network::GpuId>(rank));
  }
}

// The stage of a traced rank is its coordinate in the mesh.
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
        "{} data-parallel ranks instead of the {} that were traced; kernels and communication of a "
        "rank stay as recorded.",
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
