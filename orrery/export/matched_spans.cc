#include "orrery/export/matched_spans.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "orrery/trace/collective_names.h"

namespace orrery::exporting {
namespace {

using trace::CollectiveKind;
using trace::MatchedCollectives;
using trace::TraceSet;

// Bytes on the bus for each byte of the message, as nccl-tests defines it.
double BusFactor(CollectiveKind kind, double num_ranks) {
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
    case CollectiveKind::kBarrier:
    case CollectiveKind::kUnknown:
      break;
  }
  return 0;
}

std::string_view DescriptionOf(const TraceSet& set, const CollectiveMember& member) {
  const trace::Trace& trace = set.ranks[member.rank_index];
  const RowId group = trace.collectives.group[member.collective];
  return group == kNoRow ? std::string_view()
                                : trace.Text(trace.process_groups.description[group]);
}

// What people call the group, and the key, since descriptions repeat.
std::string TitleOf(std::string_view description, const std::string& key) {
  return description.empty() ? key : std::string(description) + " " + key;
}

bool AllOverlap(const MatchedCollectives& matched, std::size_t instance) {
  const std::int64_t last_arrival_ns = trace::LastArrivalNs(matched, instance);
  return std::ranges::all_of(matched.MembersOf(instance), [&](std::uint32_t member) {
    return matched.members.end_ns[member] > last_arrival_ns;
  });
}

bool HasWaits(const MatchedCollectives& matched, std::size_t instance) {
  const CollectiveKind kind = matched.instances.kind[instance];
  const bool is_exchange = kind == CollectiveKind::kSend || kind == CollectiveKind::kSendRecv;
  return !matched.Has(instance, trace::match_flag::kUnreliable) &&
         (trace::IsSynchronising(kind) || (is_exchange && AllOverlap(matched, instance)));
}

double NumRanks(const MatchedCollectives& matched, std::size_t instance) {
  const std::int32_t stated = matched.groups[matched.instances.group[instance]].num_ranks;
  return stated > 0 ? stated : matched.instances.num_members[instance];
}

std::vector<CollectiveMember> MembersOf(const MatchedCollectives& matched, std::size_t instance) {
  std::vector<CollectiveMember> members;
  const bool has_waits = HasWaits(matched, instance);
  for (const std::uint32_t row : matched.MembersOf(instance)) {
    members.push_back({.rank_index = matched.members.rank_index[row],
                       .collective = matched.members.collective[row],
                       .begin_ns = matched.members.begin_ns[row],
                       .end_ns = matched.members.end_ns[row],
                       .wait_ns = has_waits ? trace::WaitNs(matched, instance, row) : 0});
  }
  return members;
}

CollectiveSpan SpanOf(const TraceSet& set, const MatchedCollectives& matched,
                      std::size_t instance) {
  const CollectiveKind kind = matched.instances.kind[instance];
  const bool is_reliable = !matched.Has(instance, trace::match_flag::kUnreliable);
  CollectiveSpan span;
  span.members = MembersOf(matched, instance);
  span.group = TitleOf(span.members.empty() ? "" : DescriptionOf(set, span.members.front()),
                       matched.groups[matched.instances.group[instance]].key);
  span.name = trace::CollectiveKindName(kind);
  span.bytes = matched.instances.bytes[instance];
  span.bus_factor = is_reliable ? BusFactor(kind, NumRanks(matched, instance)) : 0;
  return span;
}

}  // namespace

std::vector<CollectiveSpan> SpansOf(const TraceSet& set, const MatchedCollectives& matched) {
  std::vector<CollectiveSpan> spans;
  spans.reserve(matched.size());
  for (std::size_t instance = 0; instance < matched.size(); ++instance) {
    spans.push_back(SpanOf(set, matched, instance));
  }
  return spans;
}

}  // namespace orrery::exporting
