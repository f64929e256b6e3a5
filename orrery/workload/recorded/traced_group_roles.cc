#include "orrery/workload/recorded/traced_group_roles.h"

#include <algorithm>

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

}  // namespace orrery::workload
