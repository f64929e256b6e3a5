#include "orrery/analyze/graph/event_edges.h"

#include <cstddef>
#include <cstdint>

#include "orrery/trace/row_index.h"
#include "orrery/trace/tables.h"

namespace orrery::analyze {
namespace {

using trace::kNoRow;
using trace::RowId;

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

}  // namespace

void AddEventEdges(RankPart& part, const std::vector<LaunchOrder>& orders) {
  const trace::Syncs& syncs = part.trace->syncs;
  const trace::RuntimeCalls& calls = part.trace->runtime_calls;
  if (syncs.empty()) {
    return;
  }
  const trace::RowIndex call_by_correlation(calls.correlation);
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
}

}  // namespace orrery::analyze
