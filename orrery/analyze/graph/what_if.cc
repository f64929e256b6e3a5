#include "orrery/analyze/graph/what_if.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "orrery/analyze/graph/lateness.h"
#include "orrery/trace/trace.h"

namespace orrery::analyze {
namespace {

class Replayer {
 public:
  Replayer(const DependencyGraph& graph, std::span<const std::int64_t> weight_ns,
           bool rendezvous_at_median)
      : graph_(graph),
        weight_ns_(weight_ns),
        rendezvous_at_median_(rendezvous_at_median),
        time_ns_(graph.num_nodes()) {}

  std::vector<std::int64_t> Run() {
    time_ns_[0] = graph_.time_ns[0];
    for (NodeId node = 1; node < graph_.num_nodes(); ++node) {
      if (rendezvous_at_median_ && graph_.node_kind[node] == NodeKind::kRendezvous) {
        PlaceAtMedian(node);
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
    return replayed_ns + graph_.time_ns[node] - recorded_ns;
  }

  void PlaceAtMedian(NodeId rendezvous) {
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
  bool rendezvous_at_median_;
  std::vector<std::int64_t> time_ns_;
  std::vector<std::int64_t> arrivals_ns_;
};

// Whether names contain a text; each name of a rank is searched once.
class NameFilter {
 public:
  NameFilter(const trace::Trace& trace, std::string_view part)
      : trace_(&trace), part_(part), known_(trace.strings.size(), kUnknown) {}

  [[nodiscard]] bool Matches(StringId name) {
    std::uint8_t& known = known_[static_cast<std::size_t>(name)];
    if (known == kUnknown) {
      known = trace_->Text(name).find(part_) != std::string_view::npos ? 1 : 0;
    }
    return known == 1;
  }

 private:
  static constexpr std::uint8_t kUnknown = 2;

  const trace::Trace* trace_;
  std::string_view part_;
  std::vector<std::uint8_t> known_;
};

std::vector<NameFilter> FilterOfPlaces(const RunView& run, const DependencyGraph& graph,
                                       std::string_view part) {
  std::vector<NameFilter> filters;
  for (const std::uint32_t rank_index : graph.rank_index) {
    filters.emplace_back(run.set->ranks[rank_index], part);
  }
  return filters;
}

// Whether activities match a filter.
class ActivityMatcher {
 public:
  ActivityMatcher(const RunView& run, const DependencyGraph& graph, const ActivityFilter& filter)
      : run_(run),
        graph_(graph),
        filter_(filter),
        kernels_(FilterOfPlaces(run, graph, filter.kernel)),
        operators_(FilterOfPlaces(run, graph, filter.from_operator)) {}

  [[nodiscard]] bool Matches(std::uint32_t place, RowId activity) {
    const std::uint32_t rank_index = graph_.rank_index[place];
    const trace::KernelClass kernel_class = run_.classes[rank_index][activity];
    if ((filter_.kernel_class && *filter_.kernel_class != kernel_class) ||
        (filter_.only_compute && !trace::IsCompute(kernel_class))) {
      return false;
    }
    const trace::Trace& trace = run_.set->ranks[rank_index];
    return kernels_[place].Matches(trace.activities.name[activity]) &&
           (filter_.from_operator.empty() || IsFromOperator(trace, place, activity));
  }

 private:
  bool IsFromOperator(const trace::Trace& trace, std::uint32_t place, RowId activity) {
    RowId op = trace.activities.host_op[activity];
    while (op != kNoRow && !operators_[place].Matches(trace.host_ops.name[op])) {
      op = trace.host_ops.parent[op];
    }
    return op != kNoRow;
  }

  const RunView& run_;
  const DependencyGraph& graph_;
  ActivityFilter filter_;
  std::vector<NameFilter> kernels_;
  std::vector<NameFilter> operators_;
};

bool IsInsideNode(const RunView& run, std::size_t instance, std::int64_t ranks_per_node) {
  std::vector<std::int32_t> ranks =
      run.matched.groups.empty()
          ? std::vector<std::int32_t>{}
          : run.matched.groups[run.matched.instances.group[instance]].members;
  const trace::CollectiveKind kind = run.matched.instances.kind[instance];
  const bool is_message =
      kind == trace::CollectiveKind::kSend || kind == trace::CollectiveKind::kSendRecv;
  if (ranks.empty() || is_message) {
    ranks.clear();
    for (const std::uint32_t member : run.matched.MembersOf(instance)) {
      ranks.push_back(trace::RankOf(*run.set, run.matched.members.rank_index[member]));
    }
  }
  return std::ranges::all_of(ranks, [&](std::int32_t rank) {
    return rank / ranks_per_node == ranks.front() / ranks_per_node;
  });
}

// When some compute kernel of the graph runs, by place.
std::vector<IntervalSet> ComputeOfPlaces(const RunView& run, const DependencyGraph& graph) {
  std::vector<IntervalSet> compute(graph.rank_index.size());
  for (NodeId node = 0; node < graph.num_nodes(); ++node) {
    if (graph.node_kind[node] != NodeKind::kActivityStart) {
      continue;
    }
    const std::uint32_t place = graph.node_place[node];
    const std::uint32_t rank_index = graph.rank_index[place];
    const RowId row = graph.node_row[node];
    if (trace::IsCompute(run.classes[rank_index][row])) {
      const std::int64_t duration_ns = run.set->ranks[rank_index].activities.duration_ns[row];
      compute[place].Append(graph.time_ns[node], graph.time_ns[node] + duration_ns);
    }
  }
  return compute;
}

// Calls `visit(edge, node it leads to)` for the edges that `chooses(edge)`.
template <typename Choose, typename Visit>
void ForEachEdge(const DependencyGraph& graph, Choose&& chooses, Visit&& visit) {
  for (NodeId node = 0; node < graph.num_nodes(); ++node) {
    for (const EdgeId edge : graph.EdgesTo(node)) {
      if (chooses(edge)) {
        visit(edge, node);
      }
    }
  }
}

}  // namespace

std::vector<std::int64_t> Replay(const DependencyGraph& graph,
                                 std::span<const std::int64_t> weight_ns,
                                 bool rendezvous_at_median) {
  if (graph.empty()) {
    return {};
  }
  return Replayer(graph, weight_ns, rendezvous_at_median).Run();
}

std::int64_t ScaleNs(std::int64_t duration_ns, double factor) {
  return static_cast<std::int64_t>(std::floor(static_cast<double>(duration_ns) * factor + 0.5));
}

WhatIf::WhatIf(const RunView& run, const DependencyGraph& graph)
    : run_(run), graph_(graph), weight_ns_(graph.weight_ns) {}

WhatIf& WhatIf::SpeedUpNetwork(const NetworkChange& change) {
  for (EdgeId edge = 0; edge < graph_.num_edges(); ++edge) {
    if (graph_.edge_class[edge] == TimeClass::kTransfer &&
        (change.ranks_per_node == 0 ||
         IsInsideNode(run_, graph_.edge_label[edge], change.ranks_per_node))) {
      const std::int64_t fixed_ns = std::min(change.latency_ns, weight_ns_[edge]);
      weight_ns_[edge] = fixed_ns + ScaleNs(weight_ns_[edge] - fixed_ns, 1.0 / change.speedup);
    }
  }
  return *this;
}

WhatIf& WhatIf::ScaleActivities(const ActivityFilter& filter, double factor) {
  ActivityMatcher matcher(run_, graph_, filter);
  ForEachEdge(
      graph_, [&](EdgeId edge) { return graph_.edge_kind[edge] == EdgeKind::kWork; },
      [&](EdgeId edge, NodeId node) {
        if (matcher.Matches(graph_.node_place[node], graph_.node_row[node])) {
          weight_ns_[edge] = ScaleNs(weight_ns_[edge], factor);
        }
      });
  return *this;
}

WhatIf& WhatIf::ScaleHost(double factor) {
  for (EdgeId edge = 0; edge < graph_.num_edges(); ++edge) {
    if (graph_.edge_class[edge] == TimeClass::kHost ||
        graph_.edge_class[edge] == TimeClass::kHostGap) {
      weight_ns_[edge] = ScaleNs(weight_ns_[edge], factor);
    }
  }
  return *this;
}

WhatIf& WhatIf::SetLaunchLatency(std::int64_t latency_ns) {
  for (EdgeId edge = 0; edge < graph_.num_edges(); ++edge) {
    if (graph_.edge_kind[edge] == EdgeKind::kLaunch) {
      weight_ns_[edge] = latency_ns;
    }
  }
  return *this;
}

WhatIf& WhatIf::RemoveLateness(std::int32_t rank) {
  for (std::uint32_t place = 0; place < graph_.rank_index.size(); ++place) {
    if (trace::RankOf(*run_.set, graph_.rank_index[place]) == rank) {
      ShortenLateSegments(run_, graph_, place, weight_ns_);
    }
  }
  return *this;
}

WhatIf& WhatIf::RemoveStragglers() {
  rendezvous_at_median_ = true;
  return *this;
}

WhatIf& WhatIf::OverlapPerfectly() {
  const std::vector<IntervalSet> compute = ComputeOfPlaces(run_, graph_);
  ForEachEdge(
      graph_, [&](EdgeId edge) { return graph_.edge_class[edge] == TimeClass::kTransfer; },
      [&](EdgeId edge, NodeId node) {
        const std::int64_t hidden_ns = compute[graph_.node_place[node]].LengthWithin(
            graph_.time_ns[graph_.edge_from[edge]], graph_.time_ns[node]);
        weight_ns_[edge] = std::min(weight_ns_[edge], hidden_ns);
      });
  return *this;
}

std::int64_t WhatIf::StepNs() const {
  if (graph_.empty()) {
    return 0;
  }
  const std::vector<std::int64_t> times_ns = Times();
  return times_ns.back() - times_ns.front();
}

}  // namespace orrery::analyze
