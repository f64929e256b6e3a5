#include "orrery/export/collective_spans.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "orrery/base/check.h"
#include "orrery/trace/collective_names.h"

namespace orrery::exporting {
namespace {

using trace::CollectiveKind;
using trace::MatchedCollectives;
using trace::Trace;
using trace::TraceSet;

constexpr std::int64_t kNoTime = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kSecond = 1'000'000'000;

double BusBandwidth(const CollectiveSpan& span, std::int64_t transfer_ns) {
  if (span.bytes < 0 || span.bus_factor <= 0 || transfer_ns <= 0) {
    return -1;
  }
  return static_cast<double>(span.bytes) * span.bus_factor * 1e9 / static_cast<double>(transfer_ns);
}

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

// The description of the group where it has one, and the key, since descriptions repeat.
std::string GroupTitle(const TraceSet& set, const CollectiveSpan& span, const std::string& key) {
  if (span.members.empty()) {
    return key;
  }
  const CollectiveMember& member = span.members.front();
  const Trace& trace = set.ranks[member.rank_index];
  const RowId group = trace.collectives.group[member.collective];
  const std::string_view description =
      group == kNoRow ? std::string_view() : trace.Text(trace.process_groups.description[group]);
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
  const bool is_pair = kind == CollectiveKind::kSend || kind == CollectiveKind::kSendRecv;
  return !matched.Has(instance, trace::match_flag::kUnreliable) &&
         (trace::IsSynchronising(kind) || (is_pair && AllOverlap(matched, instance)));
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
  span.group = GroupTitle(set, span, matched.groups[matched.instances.group[instance]].key);
  span.name = trace::CollectiveKindName(kind);
  span.bytes = matched.instances.bytes[instance];
  span.bus_factor = is_reliable ? BusFactor(kind, NumRanks(matched, instance)) : 0;
  return span;
}

bool ComesFirst(const CollectiveRow::Slice& lhs, const CollectiveRow::Slice& rhs) {
  return std::tie(lhs.metrics.begin_ns, rhs.metrics.end_ns, lhs.span) <
         std::tie(rhs.metrics.begin_ns, lhs.metrics.end_ns, rhs.span);
}

void LayOutRow(CollectiveRow& row) {
  std::ranges::sort(row.slices, ComesFirst);
  std::vector<LayoutSlice> shapes;
  for (const CollectiveRow::Slice& slice : row.slices) {
    shapes.push_back({slice.metrics.begin_ns, slice.metrics.end_ns});
  }
  const std::vector<Lane> lanes = LayOutSlices(shapes);
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    row.slices[i].lane = lanes[i];
  }
  row.num_lanes = CountLanes(lanes);
}

std::int64_t Smallest(const std::vector<std::int64_t>& times) {
  const auto smallest = std::ranges::min_element(times);
  return smallest == times.end() ? kNoTime : *smallest;
}

std::int64_t EarliestTimeOf(const Trace& trace) {
  std::int64_t earliest = Smallest(trace.flows.end_ns);
  trace::ForEachTable(trace, [&]<typename Table>(const char*, const Table& table) {
    constexpr bool kIsDrawn =
        !std::is_same_v<Table, trace::GraphNodes> && !std::is_same_v<Table, trace::Collectives>;
    if constexpr (kIsDrawn && requires { table.begin_ns; }) {
      earliest = std::min(earliest, Smallest(table.begin_ns));
    }
  });
  return earliest;
}

}  // namespace

CollectiveMetrics MetricsOf(const CollectiveSpan& span) {
  ORRERY_CHECK(!span.members.empty(), "a collective has members");
  CollectiveMetrics metrics;
  const CollectiveMember& first = span.members.front();
  metrics.begin_ns = first.begin_ns;
  metrics.end_ns = first.end_ns;
  metrics.transfer_ns = first.end_ns - first.begin_ns;
  for (const CollectiveMember& member : span.members) {
    metrics.begin_ns = std::min(metrics.begin_ns, member.begin_ns);
    metrics.end_ns = std::max(metrics.end_ns, member.end_ns);
    metrics.transfer_ns = std::min(metrics.transfer_ns, member.end_ns - member.begin_ns);
    metrics.wait_sum_ns += member.wait_ns;
  }
  const auto last = std::ranges::max_element(span.members, {}, &CollectiveMember::begin_ns);
  metrics.last_member = static_cast<std::size_t>(last - span.members.begin());
  metrics.bus_bytes_per_second = BusBandwidth(span, metrics.transfer_ns);
  return metrics;
}

std::vector<CollectiveSpan> SpansOf(const TraceSet& set, const MatchedCollectives& matched) {
  std::vector<CollectiveSpan> spans;
  spans.reserve(matched.size());
  for (std::size_t instance = 0; instance < matched.size(); ++instance) {
    spans.push_back(SpanOf(set, matched, instance));
  }
  return spans;
}

std::vector<CollectiveRow> LayOutCollectives(std::span<const CollectiveSpan> collectives) {
  std::vector<CollectiveRow> rows;
  std::map<std::string_view, std::size_t> row_of_group;
  for (std::size_t i = 0; i < collectives.size(); ++i) {
    if (collectives[i].members.empty()) {
      continue;
    }
    const auto [found, is_new] = row_of_group.try_emplace(collectives[i].group, rows.size());
    if (is_new) {
      rows.push_back({.group = collectives[i].group, .slices = {}});
    }
    rows[found->second].slices.push_back({.span = i, .metrics = MetricsOf(collectives[i])});
  }
  std::ranges::for_each(rows, LayOutRow);
  return rows;
}

bool HasEpochTimes(const TraceSet& set) {
  return std::ranges::any_of(set.ranks, [](const Trace& trace) {
    return trace.info.time_origin == trace::TimeOrigin::kEpoch;
  });
}

std::int64_t EarliestTime(const TraceSet& set, std::span<const CollectiveSpan> collectives) {
  std::int64_t earliest = kNoTime;
  for (const Trace& trace : set.ranks) {
    earliest = std::min(earliest, EarliestTimeOf(trace));
  }
  for (const CollectiveSpan& span : collectives) {
    for (const CollectiveMember& member : span.members) {
      earliest = std::min(earliest, member.begin_ns);
    }
  }
  return earliest == kNoTime ? 0 : earliest;
}

std::int64_t FloorToSecond(std::int64_t at_ns) {
  const std::int64_t into_second = ((at_ns % kSecond) + kSecond) % kSecond;
  return at_ns - into_second;
}

}  // namespace orrery::exporting
