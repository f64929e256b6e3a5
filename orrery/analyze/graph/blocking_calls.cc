#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ranges>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/analyze/graph/dependency_graph.h"
#include "orrery/analyze/graph/rank_part.h"
#include "orrery/base/columns.h"
#include "orrery/base/math/interval_set.h"
#include "orrery/base/text/text.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/row_index.h"
#include "orrery/trace/tables.h"

namespace orrery::analyze {
namespace {

// A queue has 1,024 places, of which event records and waits take some: recordings show calls that
// block with 992 activities or more before them.
constexpr NodeId kFullQueue = 992;

// The number of activities before `count` of a stream that had ended at a time.
NodeId CountEnded(const RankPart& part, const Lane& lane, NodeId count, std::int64_t time_ns) {
  const auto places = std::views::iota(NodeId{0}, count);
  const auto first_running = std::ranges::partition_point(
      places, [&](NodeId place) { return part.time_ns[lane.first + 2 * place + 1] <= time_ns; });
  return static_cast<NodeId>(first_running - places.begin());
}

// Returns the activity (its start) whose end let a launch into the queue of its stream, when the
// queue was full: about a thousand launches wait there before a call blocks. kNoNode when it was
// not, or nothing ended during the call. `launched` is the start of what the call launched.
NodeId FreedPlaceInQueue(const RankPart& part, NodeId launched, Interval call) {
  const auto lane = std::ranges::find_if(part.streams, [&](const Lane& stream) {
    return stream.first <= launched && launched < stream.end;
  });
  const NodeId place = (launched - lane->first) / 2;
  const NodeId ended_before = CountEnded(part, *lane, place, call.begin_ns);
  if (place - ended_before < kFullQueue) {
    return kNoNode;
  }
  const NodeId ended = CountEnded(part, *lane, place, call.end_ns);
  return ended == ended_before ? kNoNode : lane->first + 2 * (ended - 1);
}

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

// Without a record: a call that ends later than this after an activity did not wait for it.
constexpr std::int64_t kInferredWithinNs = 20'000;

// A call that waited, and the starts of the activities it waited for.
struct BlockedCall {
  RowId call = kNoRow;
  std::vector<NodeId> waited_for;
};

// Finds the blocked calls of a part and the smallest costs of each kind of call.
class BlockedCalls {
 public:
  BlockedCalls(RankPart& part, const std::vector<LaunchOrder>& orders)
      : part_(part),
        orders_(orders),
        calls_(part.trace->runtime_calls),
        names_(*part.trace, &ClassifyBlockingCall),
        call_by_correlation_(calls_.correlation),
        return_ns_(part.trace->strings.size(), kNever),
        idle_ns_(part.trace->strings.size(), kNever) {
    IndexSyncs();
    IndexLaunches();
    for (const Lane& thread : part.threads) {
      for (NodeId node = thread.first; node < thread.end; ++node) {
        if (part.kind[node] == NodeKind::kCallStart) {
          Consider(part.row[node]);
        }
      }
    }
  }

  void AddEdges() const {
    for (const BlockedCall& blocked : blocked_) {
      AddEdgesOf(blocked);
    }
  }

 private:
  [[nodiscard]] std::int64_t EndOf(NodeId start) const { return part_.time_ns[start + 1]; }

  [[nodiscard]] std::int64_t CallEnd(RowId call) const {
    return calls_.begin_ns[call] + calls_.duration_ns[call];
  }

  [[nodiscard]] std::size_t NameIndex(RowId call) const {
    return static_cast<std::size_t>(calls_.name[call]);
  }

  void IndexSyncs() {
    const trace::Syncs& syncs = part_.trace->syncs;
    const RowRange rows = RowsWithin(calls_.begin_ns, part_.host_window);
    sync_of_call_ = RowMap(rows.first, rows.size());
    activity_of_call_ = RowMap(rows.first, rows.size());
    for (RowId sync = 0; sync < syncs.size(); ++sync) {
      const bool blocks_host = syncs.kind[sync] == trace::SyncKind::kEvent ||
                               syncs.kind[sync] == trace::SyncKind::kStream ||
                               syncs.kind[sync] == trace::SyncKind::kContext;
      if (blocks_host && part_.call_start.Find(syncs.call[sync]) != kNoNode) {
        sync_of_call_.Set(syncs.call[sync], sync);
      }
    }
  }

  void IndexLaunches() {
    for (const Lane& stream : part_.streams) {
      for (NodeId start = stream.first; start < stream.end; start += 2) {
        const RowId call = part_.trace->activities.launch[part_.row[start]];
        if (part_.call_start.Find(call) != kNoNode) {
          activity_of_call_.Set(call, start);
        }
      }
    }
  }

  // The activities of a stream, or of all, that were launched before the call.
  [[nodiscard]] std::vector<NodeId> LaunchedBefore(std::int64_t host_ns) const {
    std::vector<NodeId> starts;
    for (const LaunchOrder& order : orders_) {
      const NodeId start = order.LastBefore(host_ns);
      if (start != kNoNode) {
        starts.push_back(start);
      }
    }
    return starts;
  }

  [[nodiscard]] std::vector<NodeId> LaunchedBefore(const Lane* lane, std::int64_t host_ns) const {
    const NodeId start =
        lane == nullptr
            ? kNoNode
            : orders_[static_cast<std::size_t>(lane - part_.streams.data())].LastBefore(host_ns);
    return start == kNoNode ? std::vector<NodeId>{} : std::vector{start};
  }

  // Returns the work that a synchronisation record names.
  [[nodiscard]] std::vector<NodeId> Named(RowId sync, RowId call) const {
    const trace::Syncs& syncs = part_.trace->syncs;
    if (syncs.kind[sync] == trace::SyncKind::kContext) {
      return LaunchedBefore(calls_.begin_ns[call]);
    }
    if (syncs.kind[sync] == trace::SyncKind::kStream) {
      return LaunchedBefore(part_.FindStream(syncs.device[sync], syncs.stream[sync]),
                            calls_.begin_ns[call]);
    }
    const std::int64_t correlation = syncs.record_correlation[sync];
    const RowId record = correlation < 0 ? kNoRow : call_by_correlation_.First(correlation);
    if (record == kNoRow) {
      return {};
    }
    return LaunchedBefore(part_.FindStream(syncs.device[sync], syncs.wait_on_stream[sync]),
                          calls_.begin_ns[record]);
  }

  // Returns the work that a call must have waited for, given its kind and the time at which it
  // returned.
  [[nodiscard]] std::vector<NodeId> Inferred(Blocking blocking, RowId call) const {
    std::vector<NodeId> starts;
    if (blocking == Blocking::kOwnCopy) {
      const NodeId copy = activity_of_call_.Find(call);
      starts = copy == kNoNode ? std::vector<NodeId>{} : std::vector{copy};
    } else {
      starts = LaunchedBefore(calls_.begin_ns[call]);
    }
    std::erase_if(starts, [&](NodeId start) { return EndOf(start) > CallEnd(call); });
    if (starts.empty()) {
      return {};
    }
    const NodeId last =
        *std::ranges::max_element(starts, {}, [&](NodeId start) { return EndOf(start); });
    if (CallEnd(call) - EndOf(last) > kInferredWithinNs) {
      return {};
    }
    return blocking == Blocking::kAllStreams ? starts : std::vector{last};
  }

  void Consider(RowId call) {
    const Blocking blocking = names_(calls_.name[call]);
    // The end follows immediately, unless events of the thread overlap without nesting.
    const bool is_plain = part_.call_end.Find(call) == part_.call_start.Find(call) + 1;
    if (!is_plain) {
      return;
    }
    if (blocking == Blocking::kNever) {
      ConsiderLaunch(call);
      return;
    }
    const RowId sync = sync_of_call_.Find(call);
    const bool is_recorded = sync != kNoRow && blocking != Blocking::kOwnCopy;
    BlockedCall blocked{.call = call,
                        .waited_for = is_recorded ? Named(sync, call) : Inferred(blocking, call)};
    std::erase_if(blocked.waited_for,
                  [&](NodeId start) { return EndOf(start) <= calls_.begin_ns[call]; });
    if (blocked.waited_for.empty()) {
      NoteIdle(blocking, call);
      return;
    }
    part_.counts.inferred_syncs += is_recorded || blocking == Blocking::kOwnCopy ? 0 : 1;
    NoteReturn(blocked);
    blocked_.push_back(std::move(blocked));
  }

  // A launch blocks while the queue of its stream is full.
  void ConsiderLaunch(RowId call) {
    const NodeId launched = activity_of_call_.Find(call);
    if (launched == kNoNode) {
      return;
    }
    std::int64_t& shortest_ns = idle_ns_[NameIndex(call)];
    shortest_ns = std::min(shortest_ns, calls_.duration_ns[call]);
    const NodeId freed = FreedPlaceInQueue(part_, launched, {calls_.begin_ns[call], CallEnd(call)});
    if (freed != kNoNode) {
      ++part_.counts.full_queues;
      blocked_.push_back({.call = call, .waited_for = {freed}});
      NoteReturn(blocked_.back());
    }
  }

  // Nothing was pending: how long the call takes by itself.
  void NoteIdle(Blocking blocking, RowId call) {
    std::vector<NodeId> pending = LaunchedBefore(calls_.begin_ns[call]);
    std::erase_if(pending, [&](NodeId start) { return EndOf(start) <= calls_.begin_ns[call]; });
    if (blocking != Blocking::kOwnCopy && pending.empty()) {
      std::int64_t& shortest_ns = idle_ns_[NameIndex(call)];
      shortest_ns = std::min(shortest_ns, calls_.duration_ns[call]);
    }
  }

  void NoteReturn(const BlockedCall& blocked) {
    std::int64_t end_ns = std::numeric_limits<std::int64_t>::min();
    for (const NodeId start : blocked.waited_for) {
      end_ns = std::max(end_ns, EndOf(start));
    }
    const std::int64_t return_ns = CallEnd(blocked.call) - end_ns;
    if (return_ns >= 0) {
      std::int64_t& shortest_ns = return_ns_[NameIndex(blocked.call)];
      shortest_ns = std::min(shortest_ns, return_ns);
    }
  }

  void AddEdgesOf(const BlockedCall& blocked) const {
    const NodeId call_start = part_.call_start.Find(blocked.call);
    const NodeId call_end = part_.call_end.Find(blocked.call);
    const std::int64_t return_ns = return_ns_[NameIndex(blocked.call)];
    const std::int64_t idle_ns = idle_ns_[NameIndex(blocked.call)];
    part_.waits_for_call[call_start] = true;
    part_.edges.push_back(
        {.from = call_start,
         .to = call_end,
         .weight_ns = idle_ns == kNever ? 0 : std::min(idle_ns, calls_.duration_ns[blocked.call]),
         .kind = EdgeKind::kThread,
         .time_class = TimeClass::kSync});
    for (const NodeId start : blocked.waited_for) {
      AddReturn(start, call_end, return_ns == kNever ? 0 : return_ns);
    }
  }

  // Host and device clocks differ a little, so that a call may seem to return before the end of
  // what it waited for: then the last node of the stream before the return stands for it.
  [[nodiscard]] NodeId LastBeforeReturn(NodeId start, std::int64_t call_end_ns) const {
    const trace::Activities& activities = part_.trace->activities;
    const RowId track = activities.track[part_.row[start]];
    for (NodeId node = start + 1; node > 0; --node) {
      if (!IsDeviceNode(part_.kind[node]) || activities.track[part_.row[node]] != track ||
          EndOf(start) - call_end_ns > kInferredWithinNs) {
        break;
      }
      if (part_.time_ns[node] <= call_end_ns) {
        return node;
      }
    }
    return start + 1;
  }

  void AddReturn(NodeId start, NodeId call_end, std::int64_t return_ns) const {
    const NodeId from = LastBeforeReturn(start, part_.time_ns[call_end]);
    if (from != start + 1) {
      ++part_.counts.shortened_edges;
    }
    part_.AddEdge({.from = from,
                   .to = call_end,
                   .weight_ns = from == start + 1 ? return_ns : 0,
                   .kind = EdgeKind::kSync,
                   .time_class = TimeClass::kSync});
  }

  RankPart& part_;
  const std::vector<LaunchOrder>& orders_;
  const trace::RuntimeCalls& calls_;
  BlockingNames names_;
  trace::RowIndex call_by_correlation_;
  RowMap sync_of_call_;  // rows of Syncs
  RowMap activity_of_call_;
  std::vector<BlockedCall> blocked_;
  std::vector<std::int64_t> return_ns_;  // by name: from the end of the activity to the call's
  std::vector<std::int64_t> idle_ns_;    // by name: the call when nothing was pending
};

}  // namespace

Blocking ClassifyBlockingCall(std::string_view name) {
  if (Contains(name, "DeviceSynchronize") || Contains(name, "CtxSynchronize") ||
      name == "cudaFree" || name == "hipFree" || name == "cuMemFree" || name == "cuMemFree_v2") {
    return Blocking::kAllStreams;
  }
  if (Contains(name, "StreamSynchronize") || Contains(name, "EventSynchronize")) {
    return Blocking::kOneStream;
  }
  return Contains(name, "Memcpy") ? Blocking::kOwnCopy : Blocking::kNever;
}

void AddBlockingCalls(RankPart& part, const std::vector<LaunchOrder>& orders) {
  BlockedCalls(part, orders).AddEdges();
}

}  // namespace orrery::analyze
