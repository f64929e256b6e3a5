#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "orrery/analyze/graph/critical_path.h"
#include "orrery/analyze/graph/dependency_graph.h"
#include "orrery/api/errors.h"
#include "orrery/api/view.h"
#include "orrery/api/view/requests.h"
#include "orrery/api/view/results.h"
#include "orrery/api/view/tiles/slice_tracks.h"
#include "orrery/api/view/view_state.h"
#include "orrery/api/view/viewed_run.h"
#include "orrery/base/columns.h"
#include "orrery/base/error.h"

namespace orrery::api::view {
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

Hop HopOf(const ViewedRun& run, const DependencyGraph& graph, const analyze::Hop& hop) {
  Hop own{.begin_ns = graph.time_ns[hop.to] - hop.length_ns() - run.begin_ns(),
          .duration_ns = hop.length_ns(),
          .class_key = std::string(analyze::TimeClassName(graph.edge_class[hop.edge])),
          .name = std::string(analyze::HopName(run.view(), graph, hop))};
  // The time of a hop is spent on the place of its end; transfers end at a rendezvous.
  const analyze::NodeId node = HasRow(graph.node_kind[hop.to]) ? hop.to : hop.from;
  const std::uint32_t place = graph.node_place[node];
  if (place == DependencyGraph::kNoPlace) {
    return own;
  }
  const std::uint32_t trace = graph.rank_index[place];
  own.rank = run.FirstRowOf(trace);
  if (HasRow(graph.node_kind[node])) {
    const SliceTable table = TableOf(graph.node_kind[node]);
    const RowId track = ColumnsOf(run.set().ranks[trace], table).track[graph.node_row[node]];
    if (track != kNoRow) {
      own.track = run.IndexOf(trace).PlaceOf(table, track);
    }
  }
  return own;
}

}  // namespace

Result<Critical> FindCriticalPath(const View& view, const RunRequest& request) {
  ORRERY_TRY(const std::shared_ptr<const ViewedRun> run, view.state().RunAt(request.run));
  const DependencyGraph& graph = analyze::GraphOf(run->view());
  if (graph.empty()) {
    return NotFound("there is no step that all ranks have");
  }
  const analyze::CriticalPath path =
      analyze::FindCriticalPath(graph, analyze::RecordedTiming(graph));
  Critical critical{.step = graph.step_number,
                    .begin_ns = graph.time_ns.front() - run->begin_ns(),
                    .length_ns = path.length_ns()};
  for (const analyze::Hop& hop : path.hops) {
    if (hop.length_ns() > 0) {
      critical.hops.push_back(HopOf(*run, graph, hop));
    }
  }
  return critical;
}

}  // namespace orrery::api::view
