#include "orrery/workload/traced_slots.h"

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

std::string MessageSlot(std::string_view group, bool is_send, std::int64_t offset) {
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

TracedSlots::TracedSlots(const TracedJob& job) : job_(job), name_of_group_(job.ranks.size()) {
  for (std::size_t traced = 0; traced < job.ranks.size(); ++traced) {
    NameGroups(traced);
    for (const TracedExchange& exchange : job.ranks[traced].collectives.exchanges) {
      AddSlot(traced, exchange);
    }
  }
}

void TracedSlots::NameGroups(std::size_t traced_rank) {
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

std::string TracedSlots::WordFor(const TracedGroup& group,
                                 const std::optional<GroupShape>& shape) const {
  for (const MeshDimension& dimension : job_.mesh) {
    if (shape && *shape == GroupShape{dimension.stride, dimension.size}) {
      return WordOf(dimension.name);
    }
  }
  return group.ranks.size() == job_.world ? "world" : WordOf(group.description);
}

std::string TracedSlots::NameOf(std::size_t traced_rank, const TracedExchange& exchange) const {
  const std::string& group = name_of_group_[traced_rank][exchange.group];
  if (group.empty() || exchange.form == TracedExchangeKind::kCollective) {
    return group;
  }
  return MessageSlot(group, exchange.form == TracedExchangeKind::kSend,
                     exchange.peer - std::int64_t{job_.ranks[traced_rank].rank});
}

void TracedSlots::AddSlot(std::size_t traced_rank, const TracedExchange& exchange) {
  const std::string name = NameOf(traced_rank, exchange);
  if (name.empty() || slots_.contains(name)) {
    return;
  }
  TracedSlot slot;
  const TracedRank& rank = job_.ranks[traced_rank];
  const std::vector<Rank>& members = rank.collectives.groups[exchange.group].ranks;
  if (exchange.form != TracedExchangeKind::kCollective) {
    const bool is_send = exchange.form == TracedExchangeKind::kSend;
    slot.form = is_send ? TracedSlot::Form::kSend : TracedSlot::Form::kReceive;
    slot.offset = exchange.peer - std::int64_t{rank.rank};
    slot.other_side =
        MessageSlot(name_of_group_[traced_rank][exchange.group], !is_send, -slot.offset);
  } else if (const std::optional<GroupShape> shape = ShapeOf(members)) {
    slot.shape = *shape;
  } else {
    slot.form = TracedSlot::Form::kListed;
    slot.listed = members;
  }
  slots_.emplace(name, std::move(slot));
}

}  // namespace orrery::workload
