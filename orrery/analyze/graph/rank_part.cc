#include "orrery/analyze/graph/rank_part.h"

#include <algorithm>

#include "orrery/trace/tables.h"

namespace orrery::analyze {

NodeId RankPart::AddNode(std::int64_t at_ns, NodeKind node_kind, RowId node_row) {
  time_ns.push_back(at_ns);
  kind.push_back(node_kind);
  row.push_back(node_row);
  return num_nodes() - 1;
}

void RankPart::AddEdge(const PartEdge& edge) {
  const std::int64_t between_ns = time_ns[edge.to] - time_ns[edge.from];
  ++counts.checked_edges;
  if (between_ns < 0) {
    ++counts.dropped_edges;
    return;
  }
  edges.push_back(edge);
  if (edge.weight_ns > between_ns) {
    ++counts.shortened_edges;
    edges.back().weight_ns = between_ns;
  }
}

const Lane* RankPart::FindStream(std::int32_t device, std::int64_t stream) const {
  const trace::Tracks& tracks = trace->tracks;
  for (const Lane& lane : streams) {
    const bool is_it = lane.track != kNoRow && tracks.thread[lane.track] == stream &&
                       (device < 0 || tracks.device[lane.track] == device);
    if (is_it) {
      return &lane;
    }
  }
  return nullptr;
}

RowRange RowsWithin(const std::vector<std::int64_t>& begin_ns, Interval window) {
  const auto first = std::ranges::lower_bound(begin_ns, window.begin_ns);
  const auto end = std::upper_bound(first, begin_ns.end(), window.end_ns);
  return {.first = static_cast<RowId>(first - begin_ns.begin()),
          .end = static_cast<RowId>(end - begin_ns.begin())};
}

}  // namespace orrery::analyze
