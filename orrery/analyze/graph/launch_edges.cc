#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <ranges>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/analyze/graph/dependency_graph.h"
#include "orrery/analyze/graph/rank_part.h"
#include "orrery/analyze/run_view.h"
#include "orrery/base/columns.h"
#include "orrery/base/string_table.h"
#include "orrery/trace/collective/matched_collectives.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/row_index.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

namespace orrery::analyze {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

// A longer delay is not launch latency: no call of that name found an idle stream.
constexpr std::int64_t kLongestLatencyNs = 30'000;

// The smallest latency of each kind of call.
class LaunchLatencies {
 public:
  explicit LaunchLatencies(const trace::Trace& trace) : smallest_ns_(trace.strings.size(), kNever) {
    for (RowId row = 0; row < trace.activities.size(); ++row) {
      const RowId call = trace.activities.launch[row];
      if (call != kNoRow) {
        Observe(trace.runtime_calls.name[call],
                trace.activities.begin_ns[row] - trace.runtime_calls.begin_ns[call]);
      }
    }
  }

  [[nodiscard]] std::int64_t Of(StringId name) const {
    const std::int64_t latency_ns = smallest_ns_[static_cast<std::size_t>(name)];
    if (latency_ns <= kLongestLatencyNs) {
      return latency_ns;
    }
    return smallest_of_all_ns_ <= kLongestLatencyNs ? smallest_of_all_ns_ : 0;
  }

 private:
  void Observe(StringId name, std::int64_t latency_ns) {
    if (latency_ns >= 0) {
      std::int64_t& smallest_ns = smallest_ns_[static_cast<std::size_t>(name)];
      smallest_ns = std::min(smallest_ns, latency_ns);
      smallest_of_all_ns_ = std::min(smallest_of_all_ns_, latency_ns);
    }
  }

  std::vector<std::int64_t> smallest_ns_;
  std::int64_t smallest_of_all_ns_ = kNever;
};

void AddLaunch(RankPart& part, const LaunchLatencies& latencies, NodeId start) {
  const RowId call = part.trace->activities.launch[part.row[start]];
  const NodeId call_start = call == kNoRow ? kNoNode : part.call_start.Find(call);
  if (call_start == kNoNode) {
    ++part.counts.without_launch;
    return;
  }
  part.AddEdge({.from = call_start,
                .to = start,
                .weight_ns = latencies.Of(part.trace->runtime_calls.name[call]),
                .kind = EdgeKind::kLaunch,
                .time_class = TimeClass::kLaunch});
}

constexpr std::int64_t kInferredWithinNs = 20'000;

const LaunchOrder* OrderOf(const RankPart& part, const std::vector<LaunchOrder>& orders,
                           std::int32_t device, std::int64_t stream) {
  const Lane* lane = part.FindStream(device, stream);
  return lane == nullptr ? nullptr : &orders[static_cast<std::size_t>(lane - part.streams.data())];
}

void AddEventEdge(RankPart& part, const std::vector<LaunchOrder>& orders, RowId sync,
                  RowId record_call) {
  const trace::Syncs& syncs = part.trace->syncs;
  const trace::RuntimeCalls& calls = part.trace->runtime_calls;
  const std::int32_t device = syncs.device[sync];
  const LaunchOrder* recorded = OrderOf(part, orders, device, syncs.wait_on_stream[sync]);
  const LaunchOrder* waiting = OrderOf(part, orders, device, syncs.stream[sync]);
  if (recorded == nullptr || waiting == nullptr) {
    return;
  }
  const NodeId before = recorded->LastBefore(calls.begin_ns[record_call]);
  const NodeId after = waiting->FirstFrom(calls.begin_ns[syncs.call[sync]]);
  if (before != kNoNode && after != kNoNode) {
    part.AddEdge({.from = before + 1, .to = after, .kind = EdgeKind::kEvent});
  }
}

// Finds what streams waited for where only the calls are known.
class EventInference {
 public:
  EventInference(RankPart& part, const std::vector<LaunchOrder>& orders)
      : part_(part), orders_(orders), waits_ns_(part.trace->tracks.size()) {
    for (const Lane& thread : part.threads) {
      const trace::RuntimeCalls& calls = part_.trace->runtime_calls;
      for (NodeId node = thread.first; node < thread.end; ++node) {
        if (part_.kind[node] == NodeKind::kCallStart &&
            part_.trace->Text(calls.name[part_.row[node]]).find("StreamWaitEvent") !=
                std::string_view::npos) {
          waits_ns_[thread.track].push_back(part_.time_ns[node]);
        }
      }
    }
  }

  void AddEdges() {
    for (std::size_t stream = 0; stream < part_.streams.size(); ++stream) {
      const Lane& lane = part_.streams[stream];
      std::int64_t launched_before_ns = std::numeric_limits<std::int64_t>::min();
      for (NodeId start = lane.first; start < lane.end; start += 2) {
        const RowId launch = part_.trace->activities.launch[part_.row[start]];
        if (launch == kNoRow || part_.call_start.Find(launch) == kNoNode) {
          continue;
        }
        const std::int64_t busy_until_ns =
            start == lane.first ? launched_before_ns : part_.time_ns[start - 1];
        Consider(stream, start, launch, launched_before_ns, busy_until_ns);
        launched_before_ns = part_.trace->runtime_calls.begin_ns[launch];
      }
    }
  }

 private:
  void Consider(std::size_t stream, NodeId start, RowId launch, std::int64_t since_ns,
                std::int64_t busy_until_ns) {
    // The last wait call of the launching thread since the launch before on the stream.
    const trace::RuntimeCalls& calls = part_.trace->runtime_calls;
    const std::vector<std::int64_t>& waits_ns = waits_ns_[calls.track[launch]];
    const auto after = std::ranges::lower_bound(waits_ns, calls.begin_ns[launch]);
    const bool has_wait = after != waits_ns.begin() && *(after - 1) >= since_ns;
    const std::optional<std::int64_t> wait_ns =
        has_wait ? std::optional(*(after - 1)) : std::nullopt;
    if (!wait_ns) {
      return;
    }
    const std::int64_t start_ns = part_.time_ns[start];
    NodeId reason = kNoNode;
    std::int64_t reason_ns = std::max({busy_until_ns, part_.time_ns[part_.call_start.Find(launch)],
                                       start_ns - kInferredWithinNs});
    for (std::size_t other = 0; other < orders_.size(); ++other) {
      const NodeId before = other == stream ? kNoNode : orders_[other].LastBefore(*wait_ns);
      if (before != kNoNode && part_.time_ns[before + 1] > reason_ns &&
          part_.time_ns[before + 1] <= start_ns) {
        reason = before + 1;
        reason_ns = part_.time_ns[reason];
      }
    }
    if (reason != kNoNode) {
      ++part_.counts.inferred_events;
      part_.AddEdge({.from = reason, .to = start, .kind = EdgeKind::kEvent});
    }
  }

  RankPart& part_;
  const std::vector<LaunchOrder>& orders_;
  std::vector<std::vector<std::int64_t>> waits_ns_;  // by track: when wait calls began
};

// A collective that shares its kernel with others is not named by the kernel: found by its time.
NodeId StartAt(const RankPart& part, RowId track, std::int64_t begin_ns) {
  const auto lane = std::ranges::find(part.streams, track, &Lane::track);
  if (lane == part.streams.end() || track == kNoRow) {
    return kNoNode;
  }
  const auto places = std::views::iota(NodeId{0}, (lane->end - lane->first) / 2);
  const auto found = std::ranges::partition_point(
      places, [&](NodeId place) { return part.time_ns[lane->first + 2 * place] < begin_ns; });
  const NodeId start = lane->first + 2 * static_cast<NodeId>(found - places.begin());
  return start < lane->end && part.time_ns[start] == begin_ns ? start : kNoNode;
}

RendezvousMember MemberIn(const RankPart& part, std::uint32_t place, RowId collective) {
  NodeId first = part.first_of_collective.Find(collective);
  NodeId last = part.last_of_collective.Find(collective);
  if (first == kNoNode && part.trace->collectives.num_kernels[collective] > 0) {
    first = StartAt(part, part.trace->collectives.track[collective],
                    part.trace->collectives.begin_ns[collective]);
    last = first;
  }
  return first == kNoNode ? RendezvousMember{}
                          : RendezvousMember{.place = place, .start = first, .end = last + 1};
}

// Collects the members of one matched instance that are in the graph.
class RendezvousFinder {
 public:
  RendezvousFinder(const RunView& run, std::vector<RankPart>& parts,
                   const std::vector<std::uint32_t>& place_of_rank)
      : matched_(run.matched), parts_(parts), place_of_rank_(place_of_rank) {}

  void Consider(std::uint32_t instance) {
    if (matched_.Has(instance, trace::match_flag::kHostTimes)) {
      return;
    }
    CollectMembers(instance);
    if (matched_.Has(instance, trace::match_flag::kUnreliable)) {
      rendezvous_.counts.unreliable_matches += members_.empty() ? 0 : 1;
    } else if (members_.size() >= 2) {
      AddRendezvous(instance);
    }
  }

  [[nodiscard]] Rendezvous Finish() && { return std::move(rendezvous_); }

 private:
  void CollectMembers(std::uint32_t instance) {
    members_.clear();
    latest_absent_ns_ = std::numeric_limits<std::int64_t>::min();
    for (const std::uint32_t member : matched_.MembersOf(instance)) {
      const std::uint32_t place = place_of_rank_[matched_.members.rank_index[member]];
      const RendezvousMember found =
          MemberIn(parts_[place], place, matched_.members.collective[member]);
      if (found.start != kNoNode) {
        members_.push_back(found);
      } else {
        latest_absent_ns_ = std::max(latest_absent_ns_, matched_.members.begin_ns[member]);
      }
    }
  }

  [[nodiscard]] std::int64_t TimeOf(std::uint32_t place, NodeId node) const {
    return parts_[place].time_ns[node];
  }

  void AddRendezvous(std::uint32_t instance) {
    // A member outside the graph may have arrived last, but not after another one ended.
    std::int64_t latest_ns = std::numeric_limits<std::int64_t>::min();
    std::int64_t first_end_ns = std::numeric_limits<std::int64_t>::max();
    for (const RendezvousMember& member : members_) {
      latest_ns = std::max(latest_ns, TimeOf(member.place, member.start));
      first_end_ns = std::min(first_end_ns, TimeOf(member.place, member.end));
    }
    const std::int64_t time_ns =
        latest_absent_ns_ <= first_end_ns ? std::max(latest_ns, latest_absent_ns_) : latest_ns;
    const bool synchronises = trace::IsSynchronising(matched_.instances.kind[instance]);
    for (RendezvousMember& member : members_) {
      ++rendezvous_.counts.checked_edges;
      if (TimeOf(member.place, member.end) >= time_ns) {
        parts_[member.place].meets[member.end] = true;
      } else {
        rendezvous_.counts.dropped_edges += synchronises ? 1 : 0;
        member.end = kNoNode;
      }
      rendezvous_.members.push_back(member);
    }
    rendezvous_.instance.push_back(instance);
    rendezvous_.time_ns.push_back(time_ns);
    rendezvous_.first_member.push_back(static_cast<std::uint32_t>(rendezvous_.members.size()));
  }

  const trace::MatchedCollectives& matched_;
  std::vector<RankPart>& parts_;
  const std::vector<std::uint32_t>& place_of_rank_;
  std::vector<RendezvousMember> members_;
  std::int64_t latest_absent_ns_ = 0;
  Rendezvous rendezvous_;
};

}  // namespace

LaunchOrder::LaunchOrder(const RankPart& part, const Lane& lane) : first_(lane.first) {
  std::int64_t latest_ns = std::numeric_limits<std::int64_t>::min();
  launched_ns_.reserve((lane.end - lane.first) / 2);
  for (NodeId start = lane.first; start < lane.end; start += 2) {
    const RowId launch = part.trace->activities.launch[part.row[start]];
    if (launch != kNoRow) {
      latest_ns = std::max(latest_ns, part.trace->runtime_calls.begin_ns[launch]);
    }
    launched_ns_.push_back(latest_ns);
  }
}

NodeId LaunchOrder::LastBefore(std::int64_t host_ns) const {
  const auto after = std::ranges::lower_bound(launched_ns_, host_ns);
  if (after == launched_ns_.begin()) {
    return kNoNode;
  }
  return first_ + 2 * static_cast<NodeId>(after - launched_ns_.begin() - 1);
}

NodeId LaunchOrder::FirstFrom(std::int64_t host_ns) const {
  const auto found = std::ranges::lower_bound(launched_ns_, host_ns);
  if (found == launched_ns_.end()) {
    return kNoNode;
  }
  return first_ + 2 * static_cast<NodeId>(found - launched_ns_.begin());
}

std::vector<LaunchOrder> LaunchOrders(const RankPart& part) {
  std::vector<LaunchOrder> orders;
  orders.reserve(part.streams.size());
  for (const Lane& lane : part.streams) {
    orders.emplace_back(part, lane);
  }
  return orders;
}

void AddLaunchEdges(RankPart& part) {
  const LaunchLatencies latencies(*part.trace);
  const trace::Activities& activities = part.trace->activities;
  for (const Lane& lane : part.streams) {
    RowId last_launch = kNoRow;
    for (NodeId start = lane.first; start < lane.end; start += 2) {
      const RowId launch = activities.launch[part.row[start]];
      const bool follows_in_graph = launch != kNoRow && launch == last_launch;
      part.counts.graph_activities += activities.graph_node[part.row[start]] >= 0 ? 1 : 0;
      if (!follows_in_graph) {
        AddLaunch(part, latencies, start);
      }
      last_launch = launch;
    }
  }
}

void AddEventEdges(RankPart& part, const std::vector<LaunchOrder>& orders) {
  const bool is_recorded =
      std::ranges::count(part.trace->syncs.kind, trace::SyncKind::kStreamWaitEvent) > 0;
  if (is_recorded) {
    const trace::Syncs& syncs = part.trace->syncs;
    const trace::RowIndex call_by_correlation(part.trace->runtime_calls.correlation);
    for (RowId sync = 0; sync < syncs.size(); ++sync) {
      if (syncs.kind[sync] != trace::SyncKind::kStreamWaitEvent || syncs.call[sync] == kNoRow ||
          part.call_start.Find(syncs.call[sync]) == kNoNode || syncs.record_correlation[sync] < 0) {
        continue;
      }
      const RowId record_call = call_by_correlation.First(syncs.record_correlation[sync]);
      if (record_call != kNoRow) {
        AddEventEdge(part, orders, sync, record_call);
      }
    }
  } else {
    EventInference(part, orders).AddEdges();
  }
}

void IndexCollectives(RankPart& part) {
  part.first_of_collective = RowMap(0, part.trace->collectives.size());
  part.last_of_collective = RowMap(0, part.trace->collectives.size());
  for (const Lane& lane : part.streams) {
    for (NodeId start = lane.first; start < lane.end; start += 2) {
      const RowId collective = part.trace->activities.collective[part.row[start]];
      if (collective == kNoRow) {
        continue;
      }
      const NodeId first = part.first_of_collective.Find(collective);
      if (first == kNoNode || part.time_ns[start] < part.time_ns[first]) {
        part.first_of_collective.Set(collective, start);
      }
      const NodeId last = part.last_of_collective.Find(collective);
      if (last == kNoNode || part.time_ns[start + 1] > part.time_ns[last + 1]) {
        part.last_of_collective.Set(collective, start);
      }
    }
  }
}

Rendezvous FindRendezvous(const RunView& run, std::vector<RankPart>& parts,
                          const std::vector<std::uint32_t>& place_of_rank) {
  RendezvousFinder finder(run, parts, place_of_rank);
  for (std::uint32_t instance = 0; instance < run.matched.size(); ++instance) {
    finder.Consider(instance);
  }
  return std::move(finder).Finish();
}

}  // namespace orrery::analyze
