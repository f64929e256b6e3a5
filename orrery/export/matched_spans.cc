#include "orrery/export/matched_spans.h"

#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include "orrery/trace/collective_names.h"

namespace orrery::exporting {
namespace {

using trace::CollectiveKind;

// Bus bytes for each byte of the larger buffer, as nccl-tests defines bus bandwidth.
double BusFactor(CollectiveKind kind, double num_ranks) {
  if (num_ranks < 2) {
    return 0;
  }
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return 2 * (num_ranks - 1) / num_ranks;
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kGather:
    case CollectiveKind::kScatter:
      return (num_ranks - 1) / num_ranks;
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kReduce:
    case CollectiveKind::kSend:
    case CollectiveKind::kRecv:
    case CollectiveKind::kSendRecv:
      return 1;
    case CollectiveKind::kUnknown:
    case CollectiveKind::kBarrier:
      return 0;
  }
  return 0;
}

// "[0,1,2,3]", the middle of long lists left out.
std::string RankList(const std::vector<std::int32_t>& ranks) {
  constexpr std::size_t kMaxShown = 8;
  std::string text = "[";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const bool is_left_out = ranks.size() > kMaxShown && i >= kMaxShown - 1 && i + 1 < ranks.size();
    if (is_left_out) {
      text += i == kMaxShown - 1 ? ",…" : "";
      continue;
    }
    text += fmt::format("{}{}", i == 0 ? "" : ",", ranks[i]);
  }
  return text + "]";
}

// What people call the group: its description or name, and who is in it.
std::string GroupTitle(const trace::TraceSet& set, const trace::MatchedCollectives& matched,
                       std::size_t instance) {
  const trace::CollectiveGroup& group = matched.groups[matched.instances.group[instance]];
  const std::uint32_t member = matched.instances.first_member[instance];
  const trace::Trace& rank = set.ranks[matched.members.rank_index[member]];
  const trace::RowId row = rank.collectives.group[matched.members.collective[member]];
  std::string title = "group";
  if (row != trace::kNoRow) {
    const std::string_view name = rank.Text(rank.process_groups.name[row]);
    const std::string_view description = rank.Text(rank.process_groups.description[row]);
    title += name.empty() ? "" : fmt::format(" {}", name);
    title += description.empty() ? "" : fmt::format(" {}", description);
  }
  if (!group.members.empty()) {
    return title + " " + RankList(group.members);
  }
  return group.num_ranks > 0 ? fmt::format("{} of {} ranks", title, group.num_ranks) : title;
}

double NumRanks(const trace::MatchedCollectives& matched, std::size_t instance) {
  const trace::CollectiveGroup& group = matched.groups[matched.instances.group[instance]];
  return group.num_ranks > 0 ? group.num_ranks
                             : static_cast<double>(matched.instances.num_members[instance]);
}

}  // namespace

std::vector<CollectiveSpan> SpansOf(const trace::TraceSet& set,
                                    const trace::MatchedCollectives& matched) {
  std::vector<CollectiveSpan> spans;
  spans.reserve(matched.size());
  for (std::size_t instance = 0; instance < matched.size(); ++instance) {
    const CollectiveKind kind = matched.instances.kind[instance];
    CollectiveSpan span{.group = GroupTitle(set, matched, instance),
                        .name = std::string(trace::CollectiveKindName(kind)),
                        .bytes = matched.instances.bytes[instance],
                        .bus_factor = BusFactor(kind, NumRanks(matched, instance)),
                        .members = {}};
    const bool may_wait = trace::IsSynchronising(kind) &&
                          !matched.Has(instance, trace::match_flag::kUnreliable);
    for (const std::uint32_t member : matched.MembersOf(instance)) {
      span.members.push_back({
          .rank_index = matched.members.rank_index[member],
          .collective = matched.members.collective[member],
          .begin_ns = matched.members.begin_ns[member],
          .end_ns = matched.members.end_ns[member],
          .wait_ns = may_wait ? trace::WaitNs(matched, instance, member) : 0,
      });
    }
    spans.push_back(std::move(span));
  }
  return spans;
}

}  // namespace orrery::exporting
