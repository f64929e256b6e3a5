#include "orrery/workload/recorded/traced_group_roles.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <string_view>

#include <fmt/core.h>

namespace orrery::workload {
namespace {

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

// Of dimensions that replicate the first one that is there grows, the shards of HSDP at the last.
constexpr auto kData = std::to_array<std::string_view>({"dp_replicate", "dp", "dp_shard"});
constexpr std::string_view kReplicas = kData.front();

tl::unexpected<Error> Refuse(const TracedJob& job, Rank world, std::string_view why) {
  return Fail(
      Error::Kind::kInvalidInput,
      fmt::format("--world {}: the job was traced as one of {} ranks, {}", world, job.world, why));
}

bool IsShaped(const TracedGroupRole& role) {
  return role.form == TracedGroupRole::Form::kShaped;
}

/// Without a mesh: what lies outside of all groups that are smaller than the world.
std::optional<GroupShape> OutermostOf(const TracedJob& job, const TracedGroupRoles& roles) {
  std::uint64_t inner = 1;
  bool has_outer = false;
  for (const auto& [name, role] : roles.roles()) {
    if (!IsShaped(role)) {
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

const MeshDimension* DataDimensionOf(const TracedJob& job) {
  for (const std::string_view name : kData) {
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

/// Whether a group is inside of the dimension, outside of it, or covers all of it.
bool FitsBeside(const GroupShape& group, const GroupShape& dimension) {
  return group.Span() <= dimension.stride || group.stride >= dimension.Span() ||
         (group.stride <= dimension.stride && group.Span() >= dimension.Span());
}

bool FitsBeside(const TracedGroupRole& role, const GroupShape& dimension) {
  const auto distance = static_cast<std::uint64_t>(std::abs(role.offset));
  switch (role.form) {
    case TracedGroupRole::Form::kShaped:
      return FitsBeside(role.shape, dimension);
    case TracedGroupRole::Form::kListed:
      return false;
    case TracedGroupRole::Form::kSend:
    case TracedGroupRole::Form::kReceive:
      break;
  }
  return distance < dimension.stride || distance % dimension.Span() == 0;
}

}  // namespace

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
    const std::optional<GroupShape> shape = ShapeOf(group.ranks);
    std::string name = WordFor(group, shape);
    if (!shape) {
      const std::size_t number =
          number_of_list_.try_emplace(group.ranks, number_of_list_.size() + 1).first->second;
      name += fmt::format(" listed {}", number);
    }
    const int count = ++counts[name];
    name_of_group_[traced_rank].push_back(count == 1 ? name : fmt::format("{} {}", name, count));
  }
}

std::string TracedGroupRoles::WordFor(const TracedGroup& group,
                                      const std::optional<GroupShape>& shape) const {
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
  TracedGroupRole role;
  const TracedRank& rank = job_.ranks[traced_rank];
  const std::vector<Rank>& members = rank.collectives.groups[communication.group].ranks;
  if (communication.form != TracedCommunicationKind::kCollective) {
    const bool is_send = communication.form == TracedCommunicationKind::kSend;
    role.form = is_send ? TracedGroupRole::Form::kSend : TracedGroupRole::Form::kReceive;
    role.offset = communication.peer - std::int64_t{rank.rank};
    role.other_side =
        MessageRole(name_of_group_[traced_rank][communication.group], !is_send, -role.offset);
  } else if (const std::optional<GroupShape> shape = ShapeOf(members)) {
    role.shape = *shape;
  } else {
    role.form = TracedGroupRole::Form::kListed;
    role.listed = members;
  }
  roles_.emplace(name, std::move(role));
}

Result<WorldGrowth> WorldGrowth::Of(const TracedJob& job, const TracedGroupRoles& roles,
                                    Rank world) {
  WorldGrowth growth;
  growth.world_ = world;
  if (world == job.world) {
    return growth;
  }
  const std::optional<GroupShape> data = DataDimension(job, roles);
  if (!data) {
    return Refuse(job, world,
                  "none of which are data-parallel to each other: trace it with --ddp or --fsdp "
                  "and two or more of them");
  }
  const Rank others = job.world / data->size;
  if (world % others != 0) {
    return Refuse(
        job, world,
        fmt::format("{} for each data-parallel one: give a multiple of {}", others, others));
  }
  for (const auto& [name, role] : roles.roles()) {
    if (!FitsBeside(role, *data)) {
      return Refuse(job, world,
                    fmt::format("and how its group '{}' grows is not known: trace it with that "
                                "world",
                                name));
    }
  }
  const MeshDimension* const dimension = DataDimensionOf(job);
  growth.grows_shards_ = dimension == nullptr || dimension->name != kReplicas;
  growth.stride_ = data->stride;
  growth.old_width_ = data->size;
  growth.new_width_ = world / others;
  return growth;
}

Rank WorldGrowth::TracedRankOf(Rank rank) const {
  const Rank inside = rank % stride_;
  const Rank width = rank / stride_ % new_width_;
  const Rank outside = rank / stride_ / new_width_;
  return inside + stride_ * (width % old_width_ + old_width_ * outside);
}

GroupShape WorldGrowth::ShapeOf(const GroupShape& traced) const {
  const std::uint64_t old_span = std::uint64_t{stride_} * old_width_;
  if (IsSame() || traced.Span() <= stride_) {
    return traced;
  }
  if (traced.stride >= old_span) {
    return {traced.stride / old_width_ * new_width_, traced.size};
  }
  return {traced.stride, traced.size / old_width_ * new_width_};
}

std::int64_t WorldGrowth::OffsetOf(std::int64_t traced) const {
  return IsSame() || std::abs(traced) < stride_ ? traced : traced / old_width_ * new_width_;
}

}  // namespace orrery::workload
