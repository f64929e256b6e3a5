#include "orrery/analyze/graph/replay.h"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace orrery::analyze {
namespace {

class Replayer {
 public:
  Replayer(const DependencyGraph& graph, std::span<const std::int64_t> weight_ns,
           const ReplayOptions& options)
      : graph_(graph), weight_ns_(weight_ns), options_(options), time_ns_(graph.num_nodes()) {}

  std::vector<std::int64_t> Run() {
    time_ns_[0] = graph_.time_ns[0];
    for (NodeId node = 1; node < graph_.num_nodes(); ++node) {
      if (options_.meets_at_median && graph_.node_kind[node] == NodeKind::kRendezvous) {
        MeetAtMedian(node);
      } else {
        time_ns_[node] = TimeOf(node);
      }
    }
    return std::move(time_ns_);
  }

 private:
  [[nodiscard]] std::int64_t TimeOf(NodeId node) const {
    std::int64_t recorded_ns = std::numeric_limits<std::int64_t>::min();
    std::int64_t replayed_ns = recorded_ns;
    for (const EdgeId edge : graph_.EdgesTo(node)) {
      const NodeId from = graph_.edge_from[edge];
      recorded_ns = std::max(recorded_ns, graph_.time_ns[from] + graph_.weight_ns[edge]);
      replayed_ns = std::max(replayed_ns, time_ns_[from] + weight_ns_[edge]);
    }
    return replayed_ns + (options_.keeps_residuals ? graph_.time_ns[node] - recorded_ns : 0);
  }

  void MeetAtMedian(NodeId rendezvous) {
    arrivals_ns_.clear();
    for (const EdgeId edge : graph_.EdgesTo(rendezvous)) {
      arrivals_ns_.push_back(time_ns_[graph_.edge_from[edge]]);
    }
    std::ranges::sort(arrivals_ns_);
    const std::size_t count = arrivals_ns_.size();
    const std::int64_t low_ns = arrivals_ns_[(count - 1) / 2];
    const std::int64_t high_ns = arrivals_ns_[count / 2];
    time_ns_[rendezvous] = low_ns + (high_ns - low_ns + 1) / 2;
    for (const EdgeId edge : graph_.EdgesTo(rendezvous)) {
      std::int64_t& start_ns = time_ns_[graph_.edge_from[edge]];
      start_ns = std::min(start_ns, time_ns_[rendezvous]);
    }
  }

  const DependencyGraph& graph_;
  std::span<const std::int64_t> weight_ns_;
  ReplayOptions options_;
  std::vector<std::int64_t> time_ns_;
  std::vector<std::int64_t> arrivals_ns_;
};

}  // namespace

std::vector<std::int64_t> Replay(const DependencyGraph& graph,
                                 std::span<const std::int64_t> weight_ns,
                                 const ReplayOptions& options) {
  if (graph.empty()) {
    return {};
  }
  return Replayer(graph, weight_ns, options).Run();
}

}  // namespace orrery::analyze
