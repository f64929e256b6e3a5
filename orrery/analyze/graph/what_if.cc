#include "orrery/analyze/graph/what_if.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "orrery/analyze/graph/lateness.h"
#include "orrery/trace/trace.h"

namespace orrery::analyze {
namespace {


// Says whether names contain a text; each name of a rank is looked at once.
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

// Decides for activities of any rank whether a filter means them.
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

bool IsConcerned(const RunView& run, const NetworkChange& change, std::size_t instance) {
  switch (change.scope) {
    case NetworkScope::kAll:
      return true;
    case NetworkScope::kInsideNode:
      return change.ranks_per_node > 0 && IsInsideNode(run, instance, change.ranks_per_node);
    case NetworkScope::kAcrossNodes:
      return change.ranks_per_node > 0 && !IsInsideNode(run, instance, change.ranks_per_node);
    case NetworkScope::kOneGroup:
      return run.matched.instances.group[instance] == change.group;
  }
  return false;
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

std::int64_t ScaleNs(std::int64_t duration_ns, double factor) {
  return static_cast<std::int64_t>(std::floor(static_cast<double>(duration_ns) * factor + 0.5));
}

WhatIf::WhatIf(const RunView& run, const DependencyGraph& graph)
    : run_(run), graph_(graph), weight_ns_(graph.weight_ns) {}

WhatIf& WhatIf::SpeedUpNetwork(const NetworkChange& change) {
  for (EdgeId edge = 0; edge < graph_.num_edges(); ++edge) {
    if (graph_.edge_class[edge] == TimeClass::kTransfer &&
        IsConcerned(run_, change, graph_.edge_label[edge])) {
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

WhatIf& WhatIf::ScaleHostEvents(std::string_view name, double factor) {
  std::vector<NameFilter> filters = FilterOfPlaces(run_, graph_, name);
  ForEachEdge(
      graph_,
      [&](EdgeId edge) {
        return graph_.edge_kind[edge] == EdgeKind::kThread &&
               graph_.edge_class[edge] == TimeClass::kHost;
      },
      [&](EdgeId edge, NodeId node) {
        const std::uint32_t place = graph_.node_place[node];
        const trace::Trace& trace = run_.set->ranks[graph_.rank_index[place]];
        const HostLabel label = UnpackHostLabel(graph_.edge_label[edge]);
        const StringId event =
            label.is_call ? trace.runtime_calls.name[label.row] : trace.host_ops.name[label.row];
        if (filters[place].Matches(event)) {
          weight_ns_[edge] = ScaleNs(weight_ns_[edge], factor);
        }
      });
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
  options_.meets_at_median = true;
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

WhatIf& WhatIf::RemoveUnexplained() {
  options_.keeps_residuals = false;
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
