#include "orrery/report/recorded_path.h"

#include <cstdint>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "orrery/analyze/graph/critical_path.h"
#include "orrery/analyze/graph/dependency_graph.h"
#include "orrery/analyze/graph/graph_holder.h"

namespace orrery::report {
namespace {

using analyze::DependencyGraph;
using analyze::NodeId;
using analyze::RunView;

// Translates hops of the graph; where a node is of no rank, the path is still on the last one.
class PathWriter {
 public:
  PathWriter(const RunView& run, const DependencyGraph& graph) : run_(run), graph_(graph) {}

  // The work of an edge, then the delay that nothing explains.
  void Add(const analyze::Hop& hop) {
    const std::int64_t begin_ns = graph_.time_ns[hop.from] - graph_.time_ns.front();
    MoveTo(hop.to);
    Append(begin_ns, hop.weight_ns, graph_.edge_class[hop.edge],
           std::string(analyze::HopName(run_, graph_, hop)));
    if (hop.residual_ns > 0) {
      Append(begin_ns + hop.weight_ns, hop.residual_ns,
             graph_.ResidualClass(hop.to, hop.residual_ns), NameOfStart(hop.to));
    }
  }

  [[nodiscard]] std::vector<Hop> Finish() { return std::move(hops_); }

 private:
  void MoveTo(NodeId node) {
    const std::uint32_t place = graph_.node_place[node];
    if (place != DependencyGraph::kNoPlace) {
      rank_ = trace::RankOf(*run_.set, graph_.rank_index[place]);
    }
  }

  void Append(std::int64_t begin_ns, std::int64_t duration_ns, analyze::TimeClass time_class,
              std::string name) {
    if (duration_ns > 0) {
      hops_.push_back({.begin_ns = begin_ns,
                       .duration_ns = duration_ns,
                       .rank = rank_,
                       .path_class = std::string(analyze::TimeClassName(time_class)),
                       .name = std::move(name)});
    }
  }

  [[nodiscard]] std::string NameOfStart(NodeId node) const {
    if (!analyze::IsDeviceNode(graph_.node_kind[node])) {
      return {};
    }
    const trace::Trace& trace = run_.set->ranks[graph_.rank_index[graph_.node_place[node]]];
    return "before " + std::string(trace.Text(trace.activities.name[graph_.node_row[node]]));
  }

  const RunView& run_;
  const DependencyGraph& graph_;
  std::int32_t rank_ = 0;
  std::vector<Hop> hops_;
};

}  // namespace

std::optional<CriticalPath> RecordedPath(const RunView& run) {
  const DependencyGraph& graph = analyze::GraphOf(run);
  if (graph.empty()) {
    return std::nullopt;
  }
  const analyze::CriticalPath found =
      analyze::FindCriticalPath(graph, analyze::RecordedTiming(graph));
  PathWriter writer(run, graph);
  for (const analyze::Hop& hop : found.hops) {
    writer.Add(hop);
  }
  return CriticalPath{.step = graph.step_number < 0 ? "The whole recording"
                                                    : fmt::format("Step {}", graph.step_number),
                      .length_ns = found.length_ns(),
                      .num_rank_changes = found.num_rank_changes,
                      .hops = writer.Finish()};
}

}  // namespace orrery::report
