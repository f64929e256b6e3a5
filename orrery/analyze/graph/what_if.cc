#include "orrery/analyze/graph/what_if.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/analyze/breakdown/communication_parts.h"
#include "orrery/analyze/graph/critical_path.h"
#include "orrery/analyze/graph/dependency_graph.h"
#include "orrery/analyze/node_placement.h"
#include "orrery/analyze/run_view.h"
#include "orrery/analyze/step_time.h"
#include "orrery/analyze/straggler/arrivals.h"
#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/base/math/interval_set.h"
#include "orrery/base/text/text.h"
#include "orrery/trace/kernel_class.h"
#include "orrery/trace/row_index.h"
#include "orrery/trace/speedup.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::analyze {
namespace {

// Returns nanoseconds times a factor, halves up.
std::int64_t ScaleNs(std::int64_t duration_ns, double factor) {
  return static_cast<std::int64_t>(std::floor(static_cast<double>(duration_ns) * factor + 0.5));
}

// A rank in a collective.
struct Attendance {
  NodeId start = 0;
  std::int64_t end_ns = 0;
};

using Attendances = std::map<std::uint32_t, Attendance>;  // by place

// A time of the rank that is to become shorter by a share of itself.
struct LateSegment {
  Interval time;
  double removed_share = 0;
};

bool IsShortened(TimeClass time_class) {
  return time_class == TimeClass::kHost || time_class == TimeClass::kHostGap ||
         time_class == TimeClass::kCompute;
}

// Returns the arrivals and departures at each rendezvous, in order of the rendezvous.
std::map<NodeId, Attendances> CollectRendezvous(const RunView& run, const DependencyGraph& graph) {
  std::map<NodeId, Attendances> rendezvous;
  for (NodeId node = 0; node < graph.num_nodes(); ++node) {
    for (const EdgeId edge : graph.EdgesTo(node)) {
      if (graph.edge_kind[edge] != EdgeKind::kRendezvous ||
          !(run.matched.instances.kind[graph.edge_label[edge]] != CollectiveKind::kSend &&
            run.matched.instances.kind[graph.edge_label[edge]] != CollectiveKind::kRecv &&
            run.matched.instances.kind[graph.edge_label[edge]] != CollectiveKind::kSendRecv)) {
        continue;
      }
      const NodeId from = graph.edge_from[edge];
      if (graph.node_kind[node] == NodeKind::kRendezvous) {
        rendezvous[node][graph.node_place[from]] = {from, graph.time_ns[node]};
      } else {
        rendezvous[from][graph.node_place[node]].end_ns = graph.time_ns[node];
      }
    }
  }
  return rendezvous;
}

// Finds where one rank is late.
class LateSegments {
 public:
  LateSegments(const RunView& run, const DependencyGraph& graph, std::uint32_t place)
      : graph_(graph), place_(place) {
    std::map<std::uint32_t, Attendances> last_of_group;
    for (auto& [rendezvous, attendances] : CollectRendezvous(run, graph)) {
      const std::uint32_t group = run.matched.instances.group[graph.node_row[rendezvous]];
      Consider(last_of_group[group], attendances);
      last_of_group[group] = std::move(attendances);
    }
  }

  [[nodiscard]] const std::vector<LateSegment>& segments() const { return segments_; }

 private:
  // Of the first collective the segment begins with the step.
  [[nodiscard]] std::optional<std::int64_t> LeftAt(const Attendances& before,
                                                   std::uint32_t place) const {
    if (before.empty()) {
      return graph_.time_ns.front();
    }
    const auto found = before.find(place);
    return found == before.end() ? std::nullopt : std::optional(found->second.end_ns);
  }

  void Consider(const Attendances& before, const Attendances& now) {
    std::vector<std::int64_t> lengths_ns;
    for (const auto& [place, attendance] : now) {
      if (const auto left_ns = LeftAt(before, place)) {
        lengths_ns.push_back(graph_.time_ns[attendance.start] - *left_ns);
      }
    }
    const auto own = now.find(place_);
    const auto left_ns = LeftAt(before, place_);
    if (own != now.end() && left_ns) {
      Shorten({*left_ns, graph_.time_ns[own->second.start]}, own->second.start,
              MedianNs(std::move(lengths_ns)));
    }
  }

  void Shorten(Interval segment, NodeId arrival, std::int64_t median_ns) {
    const std::int64_t excess_ns = segment.length_ns() - std::max<std::int64_t>(median_ns, 0);
    const std::int64_t flexible_ns = excess_ns > 0 ? FlexibleNs(segment, arrival) : 0;
    if (flexible_ns > 0) {
      const double share = static_cast<double>(excess_ns) / static_cast<double>(flexible_ns);
      segments_.push_back({segment, std::min(share, 1.0)});
    }
  }

  // Returns the host and compute time before the arrival that decided it.
  [[nodiscard]] std::int64_t FlexibleNs(Interval segment, NodeId node) const {
    const Timing recorded = RecordedTiming(graph_);
    std::int64_t flexible_ns = 0;
    while (graph_.time_ns[node] > segment.begin_ns) {
      const EdgeId edge = BindingEdge(graph_, recorded, node);
      const NodeId from = graph_.edge_from[edge];
      if (IsShortened(graph_.edge_class[edge])) {
        const std::int64_t begin_ns = std::max(graph_.time_ns[from], segment.begin_ns);
        const std::int64_t end_ns = graph_.time_ns[from] + graph_.weight_ns[edge];
        flexible_ns += std::max<std::int64_t>(end_ns - begin_ns, 0);
      }
      if (graph_.node_place[from] != place_) {
        break;
      }
      node = from;
    }
    return flexible_ns;
  }

  const DependencyGraph& graph_;
  std::uint32_t place_;
  std::vector<LateSegment> segments_;
};

// The total time removed up to an instant.
class TakenTime {
 public:
  explicit TakenTime(const std::vector<LateSegment>& segments) {
    std::map<std::int64_t, std::vector<double>> begins;
    std::map<std::int64_t, std::vector<double>> ends;
    for (const LateSegment& segment : segments) {
      begins[segment.time.begin_ns].push_back(segment.removed_share);
      ends[segment.time.end_ns].push_back(segment.removed_share);
      bounds_ns_.push_back(segment.time.begin_ns);
      bounds_ns_.push_back(segment.time.end_ns);
    }
    std::ranges::sort(bounds_ns_);
    bounds_ns_.erase(std::unique(bounds_ns_.begin(), bounds_ns_.end()), bounds_ns_.end());
    std::multiset<double> open;
    std::int64_t taken_ns = 0;
    for (std::size_t bound = 0; bound < bounds_ns_.size(); ++bound) {
      if (bound > 0) {
        taken_ns += ScaleNs(bounds_ns_[bound] - bounds_ns_[bound - 1], shares_.back());
      }
      for (const double share : ends[bounds_ns_[bound]]) {
        open.erase(open.find(share));
      }
      open.insert(begins[bounds_ns_[bound]].begin(), begins[bounds_ns_[bound]].end());
      shares_.push_back(open.empty() ? 0.0 : *open.rbegin());
      taken_ns_.push_back(taken_ns);
    }
  }

  [[nodiscard]] std::int64_t Until(std::int64_t time_ns) const {
    const auto after = std::ranges::upper_bound(bounds_ns_, time_ns);
    if (after == bounds_ns_.begin()) {
      return 0;
    }
    const auto bound = static_cast<std::size_t>(after - bounds_ns_.begin()) - 1;
    return taken_ns_[bound] + ScaleNs(time_ns - bounds_ns_[bound], shares_[bound]);
  }

 private:
  std::vector<std::int64_t> bounds_ns_;
  std::vector<double> shares_;          // taken from each ns after the bound
  std::vector<std::int64_t> taken_ns_;  // up to the bound
};

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
        arrivals_ns_.clear();
        for (const EdgeId edge : graph_.EdgesTo(node)) {
          arrivals_ns_.push_back(time_ns_[graph_.edge_from[edge]]);
        }
        time_ns_[node] = MedianNs(arrivals_ns_);
        for (const EdgeId edge : graph_.EdgesTo(node)) {
          std::int64_t& start_ns = time_ns_[graph_.edge_from[edge]];
          start_ns = std::min(start_ns, time_ns_[node]);
        }
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

  const DependencyGraph& graph_;
  std::span<const std::int64_t> weight_ns_;
  bool rendezvous_at_median_;
  std::vector<std::int64_t> time_ns_;
  std::vector<std::int64_t> arrivals_ns_;
};

// Tests whether a name contains a text.
struct PartTest {
  std::string_view part;

  bool operator()(std::string_view name) const { return Contains(name, part); }
};

using NameFilter = trace::PerName<PartTest>;

std::vector<NameFilter> FilterOfPlaces(const RunView& run, const DependencyGraph& graph,
                                       std::string_view part) {
  std::vector<NameFilter> filters;
  for (const std::uint32_t rank_index : graph.rank_index) {
    filters.emplace_back(run.set->ranks[rank_index], PartTest{part});
  }
  return filters;
}

// Tests whether activities match a filter.
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
    const bool must_compute = filter_.only_compute || filter_.part;
    if ((must_compute && !trace::IsCompute(kernel_class)) ||
        (filter_.kernel_class && *filter_.kernel_class != kernel_class) ||
        (filter_.part && *filter_.part != trace::PartOf(kernel_class))) {
      return false;
    }
    const trace::Trace& trace = run_.set->ranks[rank_index];
    return kernels_[place](trace.activities.name[activity]) &&
           (filter_.from_operator.empty() || IsFromOperator(trace, place, activity));
  }

 private:
  bool IsFromOperator(const trace::Trace& trace, std::uint32_t place, RowId activity) {
    RowId op = trace.activities.host_op[activity];
    while (op != kNoRow && !operators_[place](trace.host_ops.name[op])) {
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

std::int64_t MedianNs(std::vector<std::int64_t> values_ns) {
  std::ranges::sort(values_ns);
  const std::int64_t low_ns = values_ns[(values_ns.size() - 1) / 2];
  return low_ns + (values_ns[values_ns.size() / 2] - low_ns + 1) / 2;
}

std::vector<std::int64_t> Replay(const DependencyGraph& graph,
                                 std::span<const std::int64_t> weight_ns,
                                 bool rendezvous_at_median) {
  if (graph.empty()) {
    return {};
  }
  return Replayer(graph, weight_ns, rendezvous_at_median).Run();
}

WhatIf::WhatIf(const RunView& run, const DependencyGraph& graph)
    : run_(run), graph_(graph), weight_ns_(graph.weight_ns) {}

WhatIf& WhatIf::SpeedUpNetwork(const NetworkChange& change) {
  for (EdgeId edge = 0; edge < graph_.num_edges(); ++edge) {
    if (graph_.edge_class[edge] == TimeClass::kTransfer &&
        (change.ranks_per_node == 0 ||
         AreOnOneNode(RanksOfInstance(run_, graph_.edge_label[edge]), change.ranks_per_node))) {
      const std::int64_t fixed_ns = std::min(change.latency_ns, weight_ns_[edge]);
      weight_ns_[edge] = fixed_ns + ScaleNs(weight_ns_[edge] - fixed_ns, 1.0 / change.speedup);
    }
  }
  return *this;
}

bool IsOfRecordedStep(trace::Part part) {
  using enum trace::Part;
  return part != kNics && part != kLinks && part != kFlops && part != kMemory;
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
      // Shortens the host and compute weights of one rank (given by its place) wherever it needed
      // longer from one collective of a group to the next than the median of the group's ranks, so
      // that it needs as long as they. Where such segments of several groups overlap, the strongest
      // counts.
      const TakenTime taken(LateSegments(run_, graph_, place).segments());
      for (NodeId node = 0; node < graph_.num_nodes(); ++node) {
        if (graph_.node_place[node] != place) {
          continue;
        }
        for (const EdgeId edge : graph_.EdgesTo(node)) {
          if (IsShortened(graph_.edge_class[edge])) {
            const std::int64_t taken_ns = taken.Until(graph_.time_ns[node]) -
                                          taken.Until(graph_.time_ns[graph_.edge_from[edge]]);
            weight_ns_[edge] = std::max<std::int64_t>(weight_ns_[edge] - taken_ns, 0);
          }
        }
      }
    }
  }
  return *this;
}

WhatIf& WhatIf::RemoveStragglers() {
  rendezvous_at_median_ = true;
  return *this;
}

WhatIf& WhatIf::Apply(const trace::Speedup& speedup, std::int64_t latency_ns) {
  using enum trace::Part;
  const double factor = 1 / speedup.factor;
  switch (speedup.part) {
    case kNetwork:
      return SpeedUpNetwork({.speedup = speedup.factor, .latency_ns = latency_ns});
    case kCompute:
      return ScaleActivities({.only_compute = true}, factor);
    case kGemm:
    case kAttention:
    case kOptimizer:
    case kOther:
      return ScaleActivities({.part = speedup.part}, factor);
    case kKernel:
      return ScaleActivities({.kernel = speedup.name}, factor);
    case kOperator:
      return ScaleActivities({.from_operator = speedup.name}, factor);
    case kHost:
      return ScaleHost(factor);
    case kRank:
      return RemoveLateness(std::stoi(speedup.name));
    case kNics:
    case kLinks:
    case kFlops:
    case kMemory:
      break;
  }
  return *this;
}

WhatIf& WhatIf::OverlapPerfectly() {
  // When some compute kernel of the graph runs, by place.
  std::vector<IntervalSet> compute(graph_.rank_index.size());
  for (NodeId node = 0; node < graph_.num_nodes(); ++node) {
    if (graph_.node_kind[node] != NodeKind::kActivityStart) {
      continue;
    }
    const std::uint32_t place = graph_.node_place[node];
    const std::uint32_t rank_index = graph_.rank_index[place];
    const RowId row = graph_.node_row[node];
    if (trace::IsCompute(run_.classes[rank_index][row])) {
      const std::int64_t duration_ns = run_.set->ranks[rank_index].activities.duration_ns[row];
      compute[place].Append(graph_.time_ns[node], graph_.time_ns[node] + duration_ns);
    }
  }
  ForEachEdge(
      graph_, [&](EdgeId edge) { return graph_.edge_class[edge] == TimeClass::kTransfer; },
      [&](EdgeId edge, NodeId node) {
        const std::int64_t hidden_ns = compute[graph_.node_place[node]].LengthWithin(
            graph_.time_ns[graph_.edge_from[edge]], graph_.time_ns[node]);
        weight_ns_[edge] = std::min(weight_ns_[edge], hidden_ns);
      });
  return *this;
}

std::int64_t WhatIf::PathNs() const {
  if (graph_.empty()) {
    return 0;
  }
  const std::vector<std::int64_t> times_ns = Times();
  return times_ns.back() - times_ns.front();
}

double SavedShare(const RunView& run, const DependencyGraph& graph, std::int64_t path_ns) {
  const std::optional<RunTime> recorded = MeasureRunTime(run);
  const double whole_ns =
      std::max(static_cast<double>(graph.path_ns()), recorded ? 1e9 * recorded->seconds : 0);
  return whole_ns <= 0 ? 0 : static_cast<double>(graph.path_ns() - path_ns) / whole_ns;
}

double ReplayedSeconds(const RunView& run, const DependencyGraph& graph, std::int64_t path_ns) {
  const std::optional<RunTime> recorded = MeasureRunTime(run);
  return recorded ? recorded->seconds * (1 - SavedShare(run, graph, path_ns)) : 0;
}

std::vector<SavedTime> SavedWithoutLateness(const RunView& run,
                                            const std::vector<RankArrivals>& ranks) {
  constexpr std::size_t kMostRanks = 3;
  const DependencyGraph& graph = GraphOf(run);
  std::vector<SavedTime> saved;
  WhatIf together(run, graph);
  for (const RankArrivals& rank : ranks) {
    if (graph.empty() || saved.size() == kMostRanks || rank.times_last == 0) {
      break;
    }
    WhatIf alone(run, graph);
    const auto saved_ns = [&](WhatIf& changed) {
      const std::int64_t path_ns = changed.RemoveLateness(rank.rank).PathNs();
      return std::llround(1e9 * (ReplayedSeconds(run, graph, graph.path_ns()) -
                                 ReplayedSeconds(run, graph, path_ns)));
    };
    saved.push_back({saved_ns(alone), saved_ns(together)});
  }
  return saved;
}

std::int64_t KeptLatencyNs(const RunView& run) {
  std::string reason;
  const auto fit = FitHockney(run, reason);
  return fit && fit->alpha_s > 0
             ? static_cast<std::int64_t>(fit->alpha_s * 1e9 * 2 *
                                         static_cast<double>(fit->num_ranks - 1))
             : 0;
}

}  // namespace orrery::analyze
