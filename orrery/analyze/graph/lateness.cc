#include "orrery/analyze/graph/lateness.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "orrery/analyze/graph/critical_path.h"

namespace orrery::analyze {
namespace {

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

bool IsCollective(trace::CollectiveKind kind) {
  return kind != trace::CollectiveKind::kSend && kind != trace::CollectiveKind::kRecv &&
         kind != trace::CollectiveKind::kSendRecv;
}

// Who came to each rendezvous and when they left, in order of the rendezvous.
std::map<NodeId, Attendances> CollectRendezvous(const RunView& run, const DependencyGraph& graph) {
  std::map<NodeId, Attendances> rendezvous;
  for (NodeId node = 0; node < graph.num_nodes(); ++node) {
    for (const EdgeId edge : graph.EdgesTo(node)) {
      if (graph.edge_kind[edge] != EdgeKind::kRendezvous ||
          !IsCollective(run.matched.instances.kind[graph.edge_label[edge]])) {
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

std::int64_t MedianNs(std::vector<std::int64_t> values_ns) {
  std::ranges::sort(values_ns);
  const std::int64_t low_ns = values_ns[(values_ns.size() - 1) / 2];
  return low_ns + (values_ns[values_ns.size() / 2] - low_ns + 1) / 2;
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

  void Shorten(Interval segment, NodeId arrival, std::int64_t wanted_ns) {
    const std::int64_t excess_ns = segment.length_ns() - std::max<std::int64_t>(wanted_ns, 0);
    const std::int64_t flexible_ns = excess_ns > 0 ? FlexibleNs(segment, arrival) : 0;
    if (flexible_ns > 0) {
      const double share = static_cast<double>(excess_ns) / static_cast<double>(flexible_ns);
      segments_.push_back({segment, std::min(share, 1.0)});
    }
  }

  // How much of the time before the arrival was host or compute time that decided it.
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

// How much time is taken away up to an instant.
class TakenTime {
 public:
  explicit TakenTime(const std::vector<LateSegment>& segments) {
    std::map<std::int64_t, std::vector<double>> begins;
    std::map<std::int64_t, std::vector<double>> ends;
    for (const LateSegment& segment : segments) {
      begins[segment.time.begin_ns].push_back(segment.removed_share);
      ends[segment.time.end_ns].push_back(segment.removed_share);
      cuts_ns_.push_back(segment.time.begin_ns);
      cuts_ns_.push_back(segment.time.end_ns);
    }
    std::ranges::sort(cuts_ns_);
    cuts_ns_.erase(std::unique(cuts_ns_.begin(), cuts_ns_.end()), cuts_ns_.end());
    std::multiset<double> open;
    std::int64_t taken_ns = 0;
    for (std::size_t cut = 0; cut < cuts_ns_.size(); ++cut) {
      if (cut > 0) {
        taken_ns += ShareOf(cuts_ns_[cut] - cuts_ns_[cut - 1], shares_.back());
      }
      for (const double share : ends[cuts_ns_[cut]]) {
        open.erase(open.find(share));
      }
      open.insert(begins[cuts_ns_[cut]].begin(), begins[cuts_ns_[cut]].end());
      shares_.push_back(open.empty() ? 0.0 : *open.rbegin());
      taken_ns_.push_back(taken_ns);
    }
  }

  [[nodiscard]] std::int64_t Until(std::int64_t time_ns) const {
    const auto after = std::ranges::upper_bound(cuts_ns_, time_ns);
    if (after == cuts_ns_.begin()) {
      return 0;
    }
    const auto cut = static_cast<std::size_t>(after - cuts_ns_.begin()) - 1;
    return taken_ns_[cut] + ShareOf(time_ns - cuts_ns_[cut], shares_[cut]);
  }

 private:
  static std::int64_t ShareOf(std::int64_t length_ns, double share) {
    return static_cast<std::int64_t>(std::floor(static_cast<double>(length_ns) * share + 0.5));
  }

  std::vector<std::int64_t> cuts_ns_;
  std::vector<double> shares_;          // taken from each ns after the cut
  std::vector<std::int64_t> taken_ns_;  // up to the cut
};

}  // namespace

void ShortenLateSegments(const RunView& run, const DependencyGraph& graph, std::uint32_t place,
                         std::vector<std::int64_t>& weight_ns) {
  const TakenTime taken(LateSegments(run, graph, place).segments());
  for (NodeId node = 0; node < graph.num_nodes(); ++node) {
    if (graph.node_place[node] != place) {
      continue;
    }
    for (const EdgeId edge : graph.EdgesTo(node)) {
      if (IsShortened(graph.edge_class[edge])) {
        const std::int64_t taken_ns =
            taken.Until(graph.time_ns[node]) - taken.Until(graph.time_ns[graph.edge_from[edge]]);
        weight_ns[edge] = std::max<std::int64_t>(weight_ns[edge] - taken_ns, 0);
      }
    }
  }
}

}  // namespace orrery::analyze
