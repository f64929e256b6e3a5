#include "orrery/analyze/waits.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace orrery::analyze {
namespace {

using trace::CollectiveKind;

// When a member can begin to move data that counts.
class UsefulTime {
 public:
  UsefulTime(const trace::TraceSet& set, const trace::MatchedCollectives& matched,
             std::size_t instance)
      : set_(set),
        matched_(matched),
        instance_(instance),
        last_arrival_ns_(trace::LastArrivalNs(matched, instance)) {}

  [[nodiscard]] std::int64_t Of(std::uint32_t member) const {
    const std::int64_t begin_ns = matched_.members.begin_ns[member];
    switch (matched_.instances.kind[instance_]) {
      case CollectiveKind::kBroadcast:
      case CollectiveKind::kScatter: {
        const auto root = Root();
        return root ? std::max(begin_ns, matched_.members.begin_ns[*root]) : begin_ns;
      }
      case CollectiveKind::kReduce:
      case CollectiveKind::kGather:
        return Root() == member ? last_arrival_ns_ : begin_ns;
      case CollectiveKind::kSend:
        return IsBuffered() ? begin_ns : last_arrival_ns_;
      default:
        return last_arrival_ns_;
    }
  }

 private:
  [[nodiscard]] std::optional<std::uint32_t> Root() const {
    for (const std::uint32_t member : matched_.MembersOf(instance_)) {
      const std::uint32_t rank_index = matched_.members.rank_index[member];
      const RowId row = matched_.members.collective[member];
      const std::int32_t root = set_.ranks[rank_index].collectives.peer[row];
      if (root >= 0 && root == trace::RankOf(set_, rank_index)) {
        return member;
      }
    }
    return std::nullopt;
  }

  // Small messages are sent before the receive is posted.
  [[nodiscard]] bool IsBuffered() const {
    const std::uint32_t sender = matched_.instances.first_member[instance_];
    return matched_.instances.num_members[instance_] == 2 &&
           matched_.members.end_ns[sender] < matched_.members.begin_ns[sender + 1];
  }

  const trace::TraceSet& set_;
  const trace::MatchedCollectives& matched_;
  std::size_t instance_;
  std::int64_t last_arrival_ns_;
};

bool IsReliable(const trace::MatchedCollectives& matched, std::size_t instance,
                std::int64_t last_arrival_ns) {
  constexpr auto kDoubts =
      static_cast<std::uint8_t>(trace::match_flag::kUnreliable | trace::match_flag::kHostTimes);
  if (matched.Has(instance, kDoubts)) {
    return false;
  }
  if (!trace::IsSynchronising(matched.instances.kind[instance])) {
    return true;
  }
  return std::ranges::all_of(matched.MembersOf(instance), [&](std::uint32_t member) {
    return matched.members.end_ns[member] >= last_arrival_ns;
  });
}

std::vector<std::vector<RowId>> MembersOfRows(const trace::MatchedCollectives& matched) {
  // Members come in order of instance, so each rank's list is sorted.
  std::vector<std::vector<std::pair<std::uint32_t, RowId>>> by_instance(matched.ranks.size());
  for (std::uint32_t instance = 0; instance < matched.size(); ++instance) {
    for (const std::uint32_t member : matched.MembersOf(instance)) {
      by_instance[matched.members.rank_index[member]].emplace_back(instance, member);
    }
  }
  std::vector<std::vector<RowId>> members(matched.ranks.size());
  for (std::size_t rank = 0; rank < matched.ranks.size(); ++rank) {
    for (const RowId instance : matched.ranks[rank].instance_of_row) {
      const auto found = std::ranges::lower_bound(by_instance[rank], instance, {},
                                                  &std::pair<std::uint32_t, RowId>::first);
      const bool is_member = found != by_instance[rank].end() && found->first == instance;
      members[rank].push_back(is_member ? found->second : kNoRow);
    }
  }
  return members;
}

}  // namespace

std::int64_t CollectiveWaits::WaitOfRow(const trace::MatchedCollectives& matched,
                                        std::uint32_t rank_index, RowId row) const {
  const RowId member = member_of_row[rank_index][row];
  if (member == kNoRow) {
    return 0;
  }
  const RowId instance = matched.ranks[rank_index].instance_of_row[row];
  return is_reliable[instance] != 0 ? wait_ns[member] : 0;
}

CollectiveWaits SplitWaits(const trace::TraceSet& set, const trace::MatchedCollectives& matched) {
  CollectiveWaits waits;
  waits.member_of_row = MembersOfRows(matched);
  waits.wait_ns.resize(matched.members.size());
  for (std::size_t instance = 0; instance < matched.size(); ++instance) {
    const UsefulTime useful(set, matched, instance);
    for (const std::uint32_t member : matched.MembersOf(instance)) {
      const std::int64_t begin_ns = matched.members.begin_ns[member];
      const std::int64_t duration_ns = matched.members.end_ns[member] - begin_ns;
      waits.wait_ns[member] =
          std::clamp<std::int64_t>(useful.Of(member) - begin_ns, 0, duration_ns);
    }
    const std::int64_t last_ns = trace::LastArrivalNs(matched, instance);
    waits.last_arrival_ns.push_back(last_ns);
    waits.last_member.push_back(trace::LastMember(matched, instance));
    waits.transfer_ns.push_back(trace::MinDurationNs(matched, instance));
    waits.is_reliable.push_back(IsReliable(matched, instance, last_ns) ? 1 : 0);
    waits.num_doubtful += waits.is_reliable.back() == 0 ? 1 : 0;
  }
  return waits;
}

}  // namespace orrery::analyze
