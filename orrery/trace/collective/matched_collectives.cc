#include "orrery/trace/collective/matched_collectives.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/base/text/number_list.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::trace {
namespace {

std::string NameOrDescription(const Trace& trace, RowId group) {
  const std::string_view name = trace.Text(trace.process_groups.name[group]);
  const std::string_view description = trace.Text(trace.process_groups.description[group]);
  if (name.empty() || description.empty()) {
    return std::string(name.empty() ? description : name);
  }
  return fmt::format("{} ({})", name, description);
}

std::string KeyFromList(const Trace& trace, RowId group, const std::vector<std::int32_t>& ranks) {
  const std::string_view name = trace.Text(trace.process_groups.name[group]);
  if (trace.process_groups.ranks_cut[group] == 0) {
    return fmt::format("{} [{}]", name, fmt::join(ranks, ","));
  }
  return fmt::format("{} [{},...] of {}", name, fmt::join(ranks, ","),
                     trace.process_groups.num_ranks[group]);
}

std::string KeyFromRange(const Trace& trace, RowId group) {
  const ProcessGroups::Row row = trace.process_groups.At(group);
  return fmt::format("{}, {} ranks from {} by {}", NameOrDescription(trace, group), row.num_ranks,
                     row.rank_start, row.rank_stride);
}

// The members that first rank, stride and size describe.
std::vector<std::int32_t> MembersFromRange(const Trace& trace, RowId group) {
  const ProcessGroups::Row row = trace.process_groups.At(group);
  std::vector<std::int32_t> members;
  if (row.rank_start >= 0 && row.rank_stride > 0) {
    for (std::int32_t place = 0; place < row.num_ranks; ++place) {
      members.push_back(row.rank_start + place * row.rank_stride);
    }
  }
  return members;
}

}  // namespace

std::optional<CollectiveGroup> IdentifyGroup(const Trace& trace, RowId group,
                                             bool communicators_shared) {
  CollectiveGroup identity{.num_ranks = GroupSize(trace, group),
                           .members = MembersFromRange(trace, group)};
  std::vector<std::int32_t> ranks =
      NumbersIn<std::int32_t>(trace.Text(trace.process_groups.ranks[group]));
  if (!ranks.empty()) {
    identity.key = KeyFromList(trace, group, ranks);
    if (trace.process_groups.ranks_cut[group] == 0) {
      identity.members = std::move(ranks);
    }
  } else if (trace.process_groups.rank_start[group] >= 0 ||
             !NameOrDescription(trace, group).empty()) {
    identity.key = KeyFromRange(trace, group);
  } else if (communicators_shared && trace.process_groups.communicator[group] != 0) {
    identity.key = fmt::format("communicator {:#x}", trace.process_groups.communicator[group]);
  } else {
    return std::nullopt;
  }
  return identity;
}

bool AreCommunicatorsShared(const TraceSet& set) {
  std::map<std::uint64_t, std::size_t> ranks_of_communicator;
  for (const Trace& trace : set.ranks) {
    std::set<std::uint64_t> of_rank;
    for (RowId group = 0; group < trace.process_groups.size(); ++group) {
      if (trace.process_groups.communicator[group] != 0 && GroupSize(trace, group) != 1) {
        of_rank.insert(trace.process_groups.communicator[group]);
      }
    }
    for (const std::uint64_t communicator : of_rank) {
      ++ranks_of_communicator[communicator];
    }
  }
  const auto num_shared = std::count_if(ranks_of_communicator.begin(), ranks_of_communicator.end(),
                                        [](const auto& entry) { return entry.second > 1; });
  return 2 * static_cast<std::size_t>(num_shared) >= ranks_of_communicator.size();
}

std::int32_t GroupSize(const Trace& trace, RowId group) {
  if (group == kNoRow) {
    return -1;
  }
  if (trace.process_groups.num_ranks[group] >= 0 || trace.process_groups.ranks_cut[group] != 0) {
    return trace.process_groups.num_ranks[group];
  }
  const auto ranks = NumbersIn<std::int32_t>(trace.Text(trace.process_groups.ranks[group]));
  return ranks.empty() ? -1 : static_cast<std::int32_t>(ranks.size());
}

bool IsSynchronising(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kBarrier:
      return true;
    default:
      return false;
  }
}

std::int64_t LastArrivalNs(const MatchedCollectives& matched, std::size_t instance) {
  return matched.members.begin_ns[LastMember(matched, instance)];
}

std::uint32_t LastMember(const MatchedCollectives& matched, std::size_t instance) {
  std::uint32_t last = matched.instances.first_member[instance];
  for (const std::uint32_t member : matched.MembersOf(instance)) {
    if (matched.members.begin_ns[member] > matched.members.begin_ns[last]) {
      last = member;
    }
  }
  return last;
}

std::int64_t MinDurationNs(const MatchedCollectives& matched, std::size_t instance) {
  std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
  for (const std::uint32_t member : matched.MembersOf(instance)) {
    shortest =
        std::min(shortest, matched.members.end_ns[member] - matched.members.begin_ns[member]);
  }
  return shortest;
}

std::int64_t EndSpreadNs(const MatchedCollectives& matched, std::size_t instance) {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  std::int64_t last = std::numeric_limits<std::int64_t>::min();
  for (const std::uint32_t member : matched.MembersOf(instance)) {
    first = std::min(first, matched.members.end_ns[member]);
    last = std::max(last, matched.members.end_ns[member]);
  }
  return last - first;
}

std::int64_t WaitNs(const MatchedCollectives& matched, std::size_t instance, std::uint32_t member) {
  const std::int64_t begin_ns = matched.members.begin_ns[member];
  return std::min(LastArrivalNs(matched, instance) - begin_ns,
                  matched.members.end_ns[member] - begin_ns);
}

}  // namespace orrery::trace
