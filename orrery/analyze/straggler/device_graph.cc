#include "orrery/analyze/straggler/device_graph.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "orrery/analyze/graph/dependency_graph.h"
#include "orrery/analyze/run_view.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace_set.h"

namespace orrery::analyze {
namespace {

// Returns for each place whether its recording says which stream waited for which.
std::vector<bool> RecordedWaits(const RunView& run, const DependencyGraph& graph) {
  std::vector<bool> are_recorded;
  for (const std::uint32_t rank_index : graph.rank_index) {
    const auto& kinds = run.set->ranks[rank_index].syncs.kind;
    are_recorded.push_back(std::ranges::count(kinds, trace::SyncKind::kStreamWaitEvent) > 0);
  }
  return are_recorded;
}

// Copies the nodes and edges of devices and rendezvous, node after node.
class DeviceCopy {
 public:
  DeviceCopy(const RunView& run, const DependencyGraph& whole)
      : whole_(whole),
        new_number_(whole.num_nodes(), kDropped),
        are_recorded_(RecordedWaits(run, whole)),
        latest_end_(whole.rank_index.size(), kDropped) {
    made_.step_number = whole.step_number;
    made_.rank_index = whole.rank_index;
    for (NodeId node = 0; node < whole.num_nodes(); ++node) {
      if (!IsHostNode(whole.node_kind[node])) {
        AddNode(node);
      }
    }
    made_.first_edge.push_back(made_.num_edges());
  }

  DeviceGraph Take() {
    return {.graph = std::move(made_),
            .measured_ns = last_ns_ - first_ns_,
            .num_inferred = num_inferred_};
  }

 private:
  static constexpr NodeId kDropped = std::numeric_limits<NodeId>::max();

  static bool IsHostNode(NodeKind kind) {
    return kind == NodeKind::kOperatorStart || kind == NodeKind::kOperatorEnd ||
           kind == NodeKind::kCallStart || kind == NodeKind::kCallEnd;
  }

  void AddNode(NodeId node) {
    const NodeId number = made_.num_nodes();
    const NodeKind kind = whole_.node_kind[node];
    new_number_[node] = number;
    made_.first_edge.push_back(made_.num_edges());
    made_.time_ns.push_back(whole_.time_ns[node]);
    made_.node_kind.push_back(kind);
    made_.node_row.push_back(whole_.node_row[node]);
    made_.node_place.push_back(whole_.node_place[node]);
    for (const EdgeId edge : whole_.EdgesTo(node)) {
      KeepEdge(edge);
    }
    if (IsDeviceNode(kind)) {
      first_ns_ = std::min(first_ns_, whole_.time_ns[node]);
      last_ns_ = std::max(last_ns_, whole_.time_ns[node]);
    }
    if (kind == NodeKind::kActivityStart) {
      InferWait(node);
    }
    if (number != 0 && made_.first_edge.back() == made_.num_edges()) {
      AddEdge(0, 0, EdgeKind::kStart, TimeClass::kStart, kNoLabel);
    }
    if (kind == NodeKind::kActivityEnd) {
      latest_end_[whole_.node_place[node]] = number;
    }
  }

  void KeepEdge(EdgeId edge) {
    const NodeId from = new_number_[whole_.edge_from[edge]];
    const EdgeKind kind = whole_.edge_kind[edge];
    if (from != kDropped && kind != EdgeKind::kStart) {
      AddEdge(from, whole_.weight_ns[edge], kind, whole_.edge_class[edge], whole_.edge_label[edge]);
    }
  }

  void InferWait(NodeId node) {
    const std::uint32_t place = whole_.node_place[node];
    const NodeId end = latest_end_[place];
    if (are_recorded_[place] || end == kDropped) {
      return;
    }
    for (EdgeId edge = made_.first_edge.back(); edge < made_.num_edges(); ++edge) {
      if (made_.time_ns[made_.edge_from[edge]] >= made_.time_ns[end]) {
        return;
      }
    }
    ++num_inferred_;
    AddEdge(end, 0, EdgeKind::kEvent, TimeClass::kOrder, kNoLabel);
  }

  void AddEdge(NodeId from, std::int64_t weight_ns, EdgeKind kind, TimeClass time_class,
               std::uint32_t label) {
    made_.edge_from.push_back(from);
    made_.weight_ns.push_back(weight_ns);
    made_.edge_kind.push_back(kind);
    made_.edge_class.push_back(time_class);
    made_.edge_label.push_back(label);
  }

  const DependencyGraph& whole_;
  DependencyGraph made_;
  std::vector<NodeId> new_number_;
  std::vector<bool> are_recorded_;  // by place
  std::vector<NodeId> latest_end_;  // by place
  std::int64_t num_inferred_ = 0;
  std::int64_t first_ns_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t last_ns_ = std::numeric_limits<std::int64_t>::min();
};

}  // namespace

DeviceGraph DevicesOf(const RunView& run, const DependencyGraph& whole) {
  return DeviceCopy(run, whole).Take();
}

}  // namespace orrery::analyze
