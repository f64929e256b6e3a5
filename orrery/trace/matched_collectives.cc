#include "orrery/trace/matched_collectives.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "orrery/trace/enums.h"

namespace orrery::trace {

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
