
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/base/data_type.h"
#include "orrery/base/math/statistics.h"
#include "orrery/trace/collective/collective_lanes.h"
#include "orrery/trace/collective/matched_collectives.h"
#include "orrery/trace/folded_ranks.h"
#include "orrery/trace/trace_set.h"

namespace orrery::trace {
namespace {

constexpr std::int64_t kLeastSpreadLimitNs = 1'000'000;
constexpr std::int64_t kSpreadLimitInMedians = 5;

// An event in a slot.
struct SlotMember {
  std::uint32_t member = 0;  // of the lane
  std::uint32_t event = 0;
};

// The events of a lane, slot after slot, in each slot in order of members.
struct SlotTable {
  std::vector<std::uint32_t> first;  // of each slot, and the end
  std::vector<SlotMember> entries;

  [[nodiscard]] std::span<const SlotMember> At(std::uint32_t slot) const {
    return std::span(entries).subspan(first[slot], first[slot + 1] - first[slot]);
  }
};

template <typename Visit>
void ForEachPlacedEvent(const LaneSlots& slots, Visit&& visit) {
  for (std::uint32_t member = 0; member < slots.members.size(); ++member) {
    const auto& slot_of_event = slots.members[member].slot_of_event;
    for (std::uint32_t event = 0; event < slot_of_event.size(); ++event) {
      if (slot_of_event[event] != kNoSlot) {
        visit(slot_of_event[event], SlotMember{member, event});
      }
    }
  }
}

SlotTable CollectBySlot(const LaneSlots& slots) {
  SlotTable table;
  table.first.assign(slots.num_slots + 1, 0);
  ForEachPlacedEvent(slots, [&](std::uint32_t slot, SlotMember) { ++table.first[slot + 1]; });
  std::partial_sum(table.first.begin(), table.first.end(), table.first.begin());
  table.entries.resize(table.first.back());
  std::vector<std::uint32_t> next(table.first.begin(), table.first.end() - 1);
  ForEachPlacedEvent(
      slots, [&](std::uint32_t slot, SlotMember entry) { table.entries[next[slot]++] = entry; });
  return table;
}

// Joins what the members of one collective say: the first known value stands for all.
class InstanceJoin {
 public:
  void Add(const CollectiveEvent& event, LaneUse use) {
    const bool is_pair = use == LaneUse::kPair;
    Join(instance_.kind, is_pair ? CollectiveKind::kSend : event.kind, CollectiveKind::kUnknown,
         match_flag::kKindMismatch);
    Join(instance_.data_type, event.data_type, DataType::kUnknown, match_flag::kTypeMismatch);
    if (HasCommonSize(event.kind)) {
      Join<std::int64_t>(size_, event.size, -1, match_flag::kSizeMismatch);
    }
    instance_.bytes = std::max(instance_.bytes, event.bytes);
    if (!event.on_device) {
      instance_.flags |= match_flag::kHostTimes;
    }
    ++instance_.num_members;
  }

  void AddMatch(const MemberSlots& member) {
    if (member.ambiguous) {
      instance_.flags |= match_flag::kAmbiguous;
    }
  }

  // More members than the group has ranks: two groups have the same key.
  void CompareWithGroup(std::int64_t group_size) {
    if (instance_.num_members < group_size) {
      instance_.flags |= match_flag::kIncomplete;
    } else if (instance_.num_members > group_size) {
      instance_.flags |= match_flag::kAmbiguous;
    }
  }

  [[nodiscard]] MatchedInstances::Row& instance() { return instance_; }

 private:
  template <typename T>
  void Join(T& joined, T value, T unknown, std::uint8_t flag) {
    if (joined == unknown) {
      joined = value;
    } else if (value != unknown && value != joined) {
      instance_.flags |= flag;
    }
  }

  MatchedInstances::Row instance_;
  std::int64_t size_ = -1;
};

std::int64_t ExpectedMembers(const CollectiveLane& lane, const CollectiveGroup& group) {
  if (lane.use == LaneUse::kPair) {
    return 2;
  }
  return group.num_ranks > 0 ? group.num_ranks : std::ssize(lane.members);
}

// Members of one collective may be found by position and, where that fails, by subsequence.
MatchRule RuleOf(std::span<const SlotMember> entries, const LaneSlots& slots) {
  const bool is_subsequence = std::ranges::any_of(entries, [&](const SlotMember& entry) {
    return slots.members[entry.member].rule == MatchRule::kSubsequence;
  });
  return is_subsequence ? MatchRule::kSubsequence : slots.members[entries.front().member].rule;
}

bool HasCounterparts(const CollectiveLane& lane, bool has_folded_ranks) {
  if (has_folded_ranks && lane.use != LaneUse::kPair) {
    return true;  // those that are folded with it
  }
  // Not a rank that sends to itself, nor two files of one rank.
  return lane.members.size() >= 2 &&
         (lane.use != LaneUse::kPair ||
          (lane.members.size() == 2 && lane.members[0].rank_index != lane.members[1].rank_index));
}

// Returns true if the ends of a collective's members should be close together.
bool HasCommonEnd(const MatchedCollectives& matched, std::size_t instance) {
  const CollectiveKind kind = matched.instances.kind[instance];
  return !matched.Has(instance, match_flag::kHostTimes) &&
         (IsSynchronising(kind) || kind == CollectiveKind::kSendRecv);
}

class Matcher {
 public:
  Matcher(const TraceSet& set, CollectiveLanes lanes) : set_(set), lanes_(std::move(lanes)) {}

  MatchedCollectives Run() {
    for (const CollectiveLane& lane : lanes_.lanes) {
      MatchLane(lane);
    }
    SortByBegin();
    CountRows();
    FlagSpreads();
    result_.groups = std::move(lanes_.groups);
    return std::move(result_);
  }

 private:
  void MatchLane(const CollectiveLane& lane) {
    const bool has_folded_ranks = HasFoldedRanks(set_);
    if (!HasCounterparts(lane, has_folded_ranks)) {
      return;
    }
    const LaneSlots slots = AssignSlots(set_, lane);
    NoteLimits(lane, slots);
    const SlotTable table = CollectBySlot(slots);
    for (std::uint32_t slot = 0; slot < slots.num_slots; ++slot) {
      if (table.At(slot).size() >= 2 || (has_folded_ranks && lane.use != LaneUse::kPair)) {
        AppendInstance(lane, slots, table.At(slot));
      }
    }
  }

  void AppendInstance(const CollectiveLane& lane, const LaneSlots& slots,
                      std::span<const SlotMember> entries) {
    InstanceJoin join;
    join.instance().group = lane.group;
    join.instance().first_member = static_cast<std::uint32_t>(result_.members.size());
    for (const SlotMember& entry : entries) {
      const LaneMember& member = lane.members[entry.member];
      const CollectiveEvent& event = member.events[entry.event];
      join.Add(event, lane.use);
      join.AddMatch(slots.members[entry.member]);
      result_.members.Append({.rank_index = member.rank_index,
                              .collective = event.row,
                              .begin_ns = event.begin_ns,
                              .end_ns = event.end_ns});
    }
    join.CompareWithGroup(ExpectedMembers(lane, lanes_.groups[lane.group]));
    join.instance().rule = RuleOf(entries, slots);
    result_.instances.Append(join.instance());
  }

  void NoteLimits(const CollectiveLane& lane, const LaneSlots& slots) {
    for (std::size_t member = 0; member < slots.members.size(); ++member) {
      if (slots.members[member].search_cut) {
        result_.problems.Note(
            "search for matching collectives stopped at a limit", 1,
            fmt::format("rank {}, {}", RankOf(set_, lane.members[member].rank_index),
                        lanes_.groups[lane.group].key));
      }
    }
  }

  void SortByBegin() {
    const MatchedInstances& instances = result_.instances;
    std::vector<std::int64_t> begin_ns(instances.size(), std::numeric_limits<std::int64_t>::max());
    for (std::size_t instance = 0; instance < instances.size(); ++instance) {
      for (const std::uint32_t member : result_.MembersOf(instance)) {
        begin_ns[instance] = std::min(begin_ns[instance], result_.members.begin_ns[member]);
      }
    }
    std::vector<RowId> order(instances.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(),
                     [&](RowId a, RowId b) { return begin_ns[a] < begin_ns[b]; });
    std::vector<RowId> member_order;
    member_order.reserve(result_.members.size());
    for (const RowId instance : order) {
      const auto members = result_.MembersOf(instance);
      member_order.insert(member_order.end(), members.begin(), members.end());
    }
    PermuteRows(result_.instances, order);
    PermuteRows(result_.members, member_order);
    std::exclusive_scan(result_.instances.num_members.begin(), result_.instances.num_members.end(),
                        result_.instances.first_member.begin(), 0U);
  }

  void CountRows() {
    for (RankRows& rows : lanes_.ranks) {
      RankMatching& rank = result_.ranks.emplace_back();
      rank.num_without_kernels = rows.num_without_kernels;
      rank.num_in_groups_of_one = rows.num_in_groups_of_one;
      rank.instance_of_row.assign(rows.first_row_of_event.size(), kNoRow);
    }
    for (RowId instance = 0; instance < result_.size(); ++instance) {
      for (const std::uint32_t member : result_.MembersOf(instance)) {
        RankMatching& rank = result_.ranks[result_.members.rank_index[member]];
        rank.instance_of_row[result_.members.collective[member]] = instance;
      }
    }
    for (const std::uint32_t place : PlacesInRankOrder(set_)) {
      CountRowsOfRank(place);
    }
  }

  void CountRowsOfRank(std::size_t rank_index) {
    RankMatching& rank = result_.ranks[rank_index];
    const std::vector<RowId>& first_row = lanes_.ranks[rank_index].first_row_of_event;
    for (RowId row = 0; row < first_row.size(); ++row) {
      if (first_row[row] == kNoRow) {
        continue;
      }
      rank.instance_of_row[row] = rank.instance_of_row[first_row[row]];
      ++(rank.instance_of_row[row] == kNoRow ? rank.num_unmatched : rank.num_matched);
    }
    if (rank.num_unmatched > 0) {
      result_.problems.Loss("collectives without a counterpart on another rank", rank.num_unmatched,
                            fmt::format("rank {}", RankOf(set_, rank_index)));
    }
  }

  void FlagSpreads() {
    std::vector<double> spreads;
    for (std::size_t instance = 0; instance < result_.size(); ++instance) {
      if (HasCommonEnd(result_, instance)) {
        spreads.push_back(static_cast<double>(EndSpreadNs(result_, instance)));
      }
    }
    if (spreads.empty()) {
      return;
    }
    result_.median_end_spread_ns = static_cast<std::int64_t>(Median(spreads));
    result_.spread_limit_ns =
        std::max(kLeastSpreadLimitNs, kSpreadLimitInMedians * result_.median_end_spread_ns);
    for (std::size_t instance = 0; instance < result_.size(); ++instance) {
      if (HasCommonEnd(result_, instance) &&
          EndSpreadNs(result_, instance) > result_.spread_limit_ns) {
        result_.instances.flags[instance] |= match_flag::kSpreadTooLarge;
      }
    }
  }

  const TraceSet& set_;
  CollectiveLanes lanes_;
  MatchedCollectives result_;
};

}  // namespace

MatchedCollectives MatchCollectives(const TraceSet& set) {
  return Matcher(set, SortIntoLanes(set)).Run();
}

}  // namespace orrery::trace
