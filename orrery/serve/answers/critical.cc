#include <cstdint>
#include <string>
#include <utility>

#include "orrery/analyze/graph/critical_path.h"
#include "orrery/analyze/graph/dependency_graph.h"
#include "orrery/base/columns.h"
#include "orrery/base/document/value.h"
#include "orrery/base/error.h"
#include "orrery/serve/answers/answers.h"
#include "orrery/serve/http/request.h"
#include "orrery/serve/tiles/slice_tracks.h"
#include "orrery/serve/viewed_run.h"

namespace orrery::serve {
namespace {

using analyze::DependencyGraph;
using analyze::NodeKind;

// The table of a node's row; activities for what has none.
SliceTable TableOf(NodeKind kind) {
  switch (kind) {
    case NodeKind::kOperatorStart:
    case NodeKind::kOperatorEnd:
      return SliceTable::kHostOps;
    case NodeKind::kCallStart:
    case NodeKind::kCallEnd:
      return SliceTable::kRuntimeCalls;
    default:
      return SliceTable::kActivities;
  }
}

bool HasRow(NodeKind kind) {
  return kind != NodeKind::kSource && kind != NodeKind::kSink && kind != NodeKind::kRendezvous;
}

Value HopValue(const ViewedRun& run, const DependencyGraph& graph, const analyze::Hop& hop) {
  // The time of a hop is spent on the place of its end; transfers end at a rendezvous.
  const analyze::NodeId node = HasRow(graph.node_kind[hop.to]) ? hop.to : hop.from;
  const std::uint32_t place = graph.node_place[node];
  Value rank;
  Value track;
  if (place != DependencyGraph::kNoPlace) {
    const std::uint32_t trace = graph.rank_index[place];
    rank = run.FirstRowOf(trace);
    if (HasRow(graph.node_kind[node])) {
      const SliceTable table = TableOf(graph.node_kind[node]);
      const RowId row_track = ColumnsOf(run.set().ranks[trace], table).track[graph.node_row[node]];
      if (row_track != kNoRow) {
        track = Value(run.IndexOf(trace).PlaceOf(table, row_track));
      }
    }
  }
  return Value::Object()
      .Set("begin_ns", graph.time_ns[hop.to] - hop.length_ns() - run.begin_ns())
      .Set("duration_ns", hop.length_ns())
      .Set("rank", std::move(rank))
      .Set("track", std::move(track))
      .Set("class", analyze::TimeClassName(graph.edge_class[hop.edge]))
      .Set("name", analyze::HopName(run.view(), graph, hop));
}

}  // namespace

Result<Response> AnswerCritical(const ViewedRun& run, const Query& /*query*/) {
  const DependencyGraph& graph = analyze::GraphOf(run.view());
  if (graph.empty()) {
    return Fail(Error::Kind::kNotFound, "there is no step that all ranks have");
  }
  const analyze::CriticalPath path =
      analyze::FindCriticalPath(graph, analyze::RecordedTiming(graph));
  Value hops = Value::List();
  for (const analyze::Hop& hop : path.hops) {
    if (hop.length_ns() > 0) {
      hops.Add(HopValue(run, graph, hop));
    }
  }
  return JsonResponse(Value::Object()
                          .Set("step", graph.step_number)
                          .Set("begin_ns", graph.time_ns.front() - run.begin_ns())
                          .Set("length_ns", path.length_ns())
                          .Set("hops", std::move(hops)));
}

}  // namespace orrery::serve
