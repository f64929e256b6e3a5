#include "orrery/workload/recorded/ranks/traced_ensemble.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/error.h"
#include "orrery/network/topology.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/input.h"
#include "orrery/workload/program.h"
#include "orrery/workload/recorded/ranks/traced_job.h"

namespace orrery::workload {
namespace {

class GroupWriter {
 public:
  GroupWriter(const TracedGroupRoles& roles, const WorldGrowth& growth, Ensemble& ensemble)
      : roles_(roles), growth_(growth), ensemble_(ensemble) {
    const Program& first = ensemble.programs.front();
    ensemble.SetRoles(static_cast<std::uint32_t>(first.roles.size()));
    for (std::uint32_t role = 0; role < ensemble.num_roles; ++role) {
      number_of_role_.emplace(first.RoleName(role), role);
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
  // Receiving roles are added with the sending ones.
  void AddRole(const TracedGroupRole& role, std::uint32_t number) {
    if (role.form == TracedGroupRole::Form::kShaped) {
      AddShaped(growth_.ShapeOf(role.shape), number);
    } else if (role.form == TracedGroupRole::Form::kListed) {
      AddGroup(role.listed, number);
    } else if (role.form == TracedGroupRole::Form::kSend) {
      AddPairs(role, number);
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
  for (Rank rank = 0; rank < growth.world; ++rank) {
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

// Each rank keeps a smaller or larger share of the states.
void ScaleOptimizer(double factor, Program& program) {
  for (TaskId task = 0; task < program.tasks.size(); ++task) {
    const PartId part = program.tasks.part[task];
    if (program.tasks.kind[task] == TaskKind::kKernel && part != kNone &&
        program.parts.phase[part] == Phase::kOptimizer) {
      program.tasks.duration_ps[task] =
          std::llround(static_cast<double>(program.tasks.duration_ps[task]) * factor);
    }
  }
}

constexpr std::string_view kMeshPrefix = "mesh_";

// One word, for it is a dimension in what is said.
std::string WordOf(std::string_view description) {
  if (description.starts_with(kMeshPrefix)) {
    description.remove_prefix(kMeshPrefix.size());
  }
  std::string word(description);
  std::ranges::replace(word, ' ', '_');
  return word.empty() ? "group" : word;
}

std::string MessageRole(std::string_view group, bool is_send, std::int64_t offset) {
  return fmt::format("{} {} {:+}", group, is_send ? "send" : "receive", offset);
}

tl::unexpected<Error> RefuseWorld(const TracedJob& job, Rank world, std::string_view why) {
  return Refuse("--world {}: the job was traced as one of {} ranks, {}", world, job.world, why);
}

/// Without a mesh: the dimension outside all groups that are smaller than the world.
std::optional<GroupShape> OutermostOf(const TracedJob& job, const TracedGroupRoles& roles) {
  std::uint64_t inner = 1;
  bool has_outer = false;
  for (const auto& [name, role] : roles.roles()) {
    if (role.form != TracedGroupRole::Form::kShaped) {
      return std::nullopt;
    }
    if (role.shape.Span() < job.world) {
      inner = std::max(inner, role.shape.Span());
    } else {
      has_outer = true;
    }
  }
  if (!has_outer || job.world % inner != 0 || inner == job.world) {
    return std::nullopt;
  }
  return GroupShape{static_cast<Rank>(inner), static_cast<Rank>(job.world / inner)};
}

// The first dimension that is there grows: copies before the shards of HSDP.
const MeshDimension* DataDimensionOf(const TracedJob& job) {
  for (const std::string_view name : kDataDimensions) {
    const auto found = std::ranges::find(job.mesh, name, &MeshDimension::name);
    if (found != job.mesh.end() && found->size > 1) {
      return &*found;
    }
  }
  return nullptr;
}

std::optional<GroupShape> DataDimension(const TracedJob& job, const TracedGroupRoles& roles) {
  if (job.mesh.empty()) {
    return OutermostOf(job, roles);
  }
  const MeshDimension* const found = DataDimensionOf(job);
  return found == nullptr ? std::nullopt : std::optional(GroupShape{found->stride, found->size});
}

/// Returns true if a group is inside the dimension, outside it, or covers all of it.
bool FitsBeside(const GroupShape& group, const GroupShape& dimension) {
  return group.Span() <= dimension.stride || group.stride >= dimension.Span() ||
         (group.stride <= dimension.stride && group.Span() >= dimension.Span());
}

bool FitsBeside(const TracedGroupRole& role, const GroupShape& dimension) {
  if (role.form == TracedGroupRole::Form::kShaped) {
    return FitsBeside(role.shape, dimension);
  }
  const auto distance = static_cast<std::uint64_t>(std::abs(role.offset));
  return role.form != TracedGroupRole::Form::kListed &&
         (distance < dimension.stride || distance % dimension.Span() == 0);
}

}  // namespace

Result<TracedEnsemble> EnsembleOfTracedJob(const TracedJob& job, const TracedGroupRoles& roles,
                                           std::vector<Program> programs, Rank world) {
  ORRERY_TRY(const WorldGrowth growth, WorldGrowth::Of(job, roles, world));
  TracedEnsemble traced;
  if (!growth.IsSame()) {
    traced.remarks.push_back(
        fmt::format("{} data-parallel ranks instead of the {} that were traced; kernels and "
                    "communication of a rank stay as recorded.",
                    growth.new_width, growth.old_width));
  }
  if (!growth.IsSame() && job.is_sharded && growth.grows_shards) {
    const double factor = static_cast<double>(growth.old_width) / growth.new_width;
    for (Program& program : programs) {
      ScaleOptimizer(factor, program);
    }
    traced.remarks.push_back(
        fmt::format("The optimizer's kernels take {:.3g} times what they took: each rank keeps "
                    "that share of the states it had.",
                    factor));
  }
  UniteGroupRoles(programs);
  traced.ensemble.programs = std::move(programs);
  AddRanks(job, growth, traced.ensemble);
  NumberStages(job, traced.ensemble);
  GroupWriter(roles, growth, traced.ensemble).AddAll(traced.remarks);
  return traced;
}

std::optional<GroupShape> ShapeOf(std::span<const Rank> ranks) {
  std::vector<Rank> sorted(ranks.begin(), ranks.end());
  std::ranges::sort(sorted);
  if (sorted.size() < 2) {
    return std::nullopt;
  }
  const GroupShape shape{sorted[1] - sorted[0], static_cast<Rank>(sorted.size())};
  if (shape.stride == 0 || shape.BaseOf(sorted[0]) != sorted[0]) {
    return std::nullopt;
  }
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i] - sorted[i - 1] != shape.stride) {
      return std::nullopt;
    }
  }
  return shape;
}

TracedGroupRoles::TracedGroupRoles(const TracedJob& job)
    : job_(job), name_of_group_(job.ranks.size()) {
  for (std::size_t traced = 0; traced < job.ranks.size(); ++traced) {
    NameGroups(traced);
    for (const TracedCommunication& communication : job.ranks[traced].collectives.communications) {
      AddRole(traced, communication);
    }
  }
}

void TracedGroupRoles::NameGroups(std::size_t traced_rank) {
  std::map<std::string, int> counts;
  for (const TracedGroup& group : job_.ranks[traced_rank].collectives.groups) {
    if (group.ranks.size() < 2) {
      name_of_group_[traced_rank].emplace_back();
      continue;
    }
    std::string name = DimensionOf(group);
    if (!ShapeOf(group.ranks)) {
      const std::size_t number =
          number_of_list_.try_emplace(group.ranks, number_of_list_.size() + 1).first->second;
      name += fmt::format(" listed {}", number);
    }
    const int count = ++counts[name];
    name_of_group_[traced_rank].push_back(count == 1 ? name : fmt::format("{} {}", name, count));
  }
}

std::string TracedGroupRoles::DimensionOf(const TracedGroup& group) const {
  const std::optional<GroupShape> shape = ShapeOf(group.ranks);
  for (const MeshDimension& dimension : job_.mesh) {
    if (shape && *shape == GroupShape{dimension.stride, dimension.size}) {
      return WordOf(dimension.name);
    }
  }
  return group.ranks.size() == job_.world ? "world" : WordOf(group.description);
}

std::string TracedGroupRoles::NameOf(std::size_t traced_rank,
                                     const TracedCommunication& communication) const {
  const std::string& group = name_of_group_[traced_rank][communication.group];
  if (group.empty() || communication.form == TracedCommunicationKind::kCollective) {
    return group;
  }
  return MessageRole(group, communication.form == TracedCommunicationKind::kSend,
                     communication.peer - std::int64_t{job_.ranks[traced_rank].rank});
}

void TracedGroupRoles::AddRole(std::size_t traced_rank, const TracedCommunication& communication) {
  const std::string name = NameOf(traced_rank, communication);
  if (name.empty() || roles_.contains(name)) {
    return;
  }
  const TracedRank& rank = job_.ranks[traced_rank];
  const TracedGroup& group = rank.collectives.groups[communication.group];
  TracedGroupRole role{.dimension = DimensionOf(group)};
  if (communication.form != TracedCommunicationKind::kCollective) {
    const bool is_send = communication.form == TracedCommunicationKind::kSend;
    role.form = is_send ? TracedGroupRole::Form::kSend : TracedGroupRole::Form::kReceive;
    role.offset = communication.peer - std::int64_t{rank.rank};
    role.other_side =
        MessageRole(name_of_group_[traced_rank][communication.group], !is_send, -role.offset);
  } else if (const std::optional<GroupShape> shape = ShapeOf(group.ranks)) {
    role.shape = *shape;
  } else {
    role.form = TracedGroupRole::Form::kListed;
    role.listed = group.ranks;
  }
  roles_.emplace(name, std::move(role));
}

Result<WorldGrowth> WorldGrowth::Of(const TracedJob& job, const TracedGroupRoles& roles,
                                    Rank world) {
  WorldGrowth growth;
  growth.world = world;
  if (world == job.world) {
    return growth;
  }
  const std::optional<GroupShape> data = DataDimension(job, roles);
  if (!data) {
    return RefuseWorld(job, world,
                       "none of which are data-parallel to each other: trace it with --ddp or "
                       "--fsdp and two or more of them");
  }
  const Rank others = job.world / data->size;
  if (world % others != 0) {
    return RefuseWorld(
        job, world,
        fmt::format("{} for each data-parallel one: give a multiple of {}", others, others));
  }
  for (const auto& [name, role] : roles.roles()) {
    if (!FitsBeside(role, *data)) {
      return RefuseWorld(
          job, world,
          fmt::format("and how its group '{}' grows is not known: trace it with that world", name));
    }
  }
  const MeshDimension* const dimension = DataDimensionOf(job);
  growth.grows_shards = dimension == nullptr || dimension->name != kDataDimensions.front();
  growth.stride = data->stride;
  growth.old_width = data->size;
  growth.new_width = world / others;
  return growth;
}

Rank WorldGrowth::TracedRankOf(Rank rank) const {
  const Rank inside = rank % stride;
  const Rank width = rank / stride % new_width;
  const Rank outside = rank / stride / new_width;
  return inside + stride * (width % old_width + old_width * outside);
}

GroupShape WorldGrowth::ShapeOf(const GroupShape& traced) const {
  const std::uint64_t old_span = std::uint64_t{stride} * old_width;
  if (IsSame() || traced.Span() <= stride) {
    return traced;
  }
  if (traced.stride >= old_span) {
    return {traced.stride / old_width * new_width, traced.size};
  }
  return {traced.stride, traced.size / old_width * new_width};
}

std::int64_t WorldGrowth::OffsetOf(std::int64_t traced) const {
  return IsSame() || std::abs(traced) < stride ? traced : traced / old_width * new_width;
}

}  // namespace orrery::workload
