#include "orrery/analyze/graph/critical_path.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/analyze/graph/dependency_graph.h"
#include "orrery/analyze/graph/graph_holder.h"
#include "orrery/analyze/metric.h"

namespace orrery::analyze::critical_path {
namespace {

constexpr std::size_t kNumLongest = 10;
constexpr double kDoubtfulPercent = 0.1;  // contradictions above this make the graph doubtful

std::int64_t RankAt(const RunView& run, const DependencyGraph& graph, std::uint32_t place) {
  return trace::RankOf(*run.set, graph.rank_index[place]);
}

Value ByClass(const CriticalPath& path) {
  Value classes = Value::Object();
  for (int index = 0; index < kNumTimeClasses; ++index) {
    const auto time_class = static_cast<TimeClass>(index);
    if (path.ClassNs(time_class) != 0) {
      classes.Set(std::string(TimeClassName(time_class)) + "_ns", path.ClassNs(time_class));
    }
  }
  return classes;
}

Value ByRank(const RunView& run, const DependencyGraph& graph, const CriticalPath& path) {
  Value ranks = Value::List();
  for (std::uint32_t place = 0; place < path.ns_by_place.size(); ++place) {
    ranks.Add(Value::Object()
                  .Set("rank", RankAt(run, graph, place))
                  .Set("on_path_ns", path.ns_by_place[place]));
  }
  return ranks;
}

Value HopRow(const RunView& run, const DependencyGraph& graph, const Hop& hop) {
  Value row = Value::Object();
  const bool is_delay = hop.residual_ns > hop.weight_ns;
  const TimeClass time_class =
      is_delay ? graph.ResidualClass(hop.to, hop.residual_ns) : graph.edge_class[hop.edge];
  row.Set("class", TimeClassName(time_class))
      .Set("duration_ns", hop.length_ns())
      .Set("begin_ns", graph.time_ns[hop.from] - graph.time_ns.front());
  if (graph.node_place[hop.to] != DependencyGraph::kNoPlace) {
    row.Set("rank", RankAt(run, graph, graph.node_place[hop.to]));
  }
  if (const std::string_view name = HopName(run, graph, hop); !name.empty()) {
    row.Set("name", name);
  }
  if (const std::string_view name = HopOperator(run, graph, hop); !name.empty()) {
    row.Set("operator", name);
  }
  return row;
}

Value LongestHops(const RunView& run, const DependencyGraph& graph, const CriticalPath& path) {
  std::vector<Hop> hops = path.hops;
  const std::size_t count = std::min(hops.size(), kNumLongest);
  std::ranges::partial_sort(
      hops, hops.begin() + static_cast<std::ptrdiff_t>(count), [](const Hop& a, const Hop& b) {
        return std::pair(b.length_ns(), a.to) < std::pair(a.length_ns(), b.to);
      });
  hops.resize(count);
  Value rows = Value::List();
  for (const Hop& hop : hops) {
    rows.Add(HopRow(run, graph, hop));
  }
  return rows;
}

// The longest activities that could end later: what is not worth making faster.
Value LongestWithSlack(const RunView& run, const DependencyGraph& graph) {
  const std::vector<std::int64_t> slack_ns = FindSlack(graph);

  struct Candidate {
    std::int64_t duration_ns = 0;
    NodeId end = 0;
  };

  std::vector<Candidate> candidates;
  for (NodeId node = 0; node < graph.num_nodes(); ++node) {
    if (graph.node_kind[node] == NodeKind::kActivityEnd && slack_ns[node] > 0) {
      const trace::Trace& trace = run.set->ranks[graph.rank_index[graph.node_place[node]]];
      candidates.push_back({trace.activities.duration_ns[graph.node_row[node]], node});
    }
  }
  const std::size_t count = std::min(candidates.size(), kNumLongest);
  std::ranges::partial_sort(candidates, candidates.begin() + static_cast<std::ptrdiff_t>(count),
                            [](const Candidate& a, const Candidate& b) {
                              return std::pair(b.duration_ns, a.end) <
                                     std::pair(a.duration_ns, b.end);
                            });
  candidates.resize(count);
  Value rows = Value::List();
  for (const Candidate& candidate : candidates) {
    const std::uint32_t place = graph.node_place[candidate.end];
    const trace::Trace& trace = run.set->ranks[graph.rank_index[place]];
    rows.Add(Value::Object()
                 .Set("rank", RankAt(run, graph, place))
                 .Set("name", trace.Text(trace.activities.name[graph.node_row[candidate.end]]))
                 .Set("duration_ns", candidate.duration_ns)
                 .Set("slack_ns", slack_ns[candidate.end]));
  }
  return rows;
}

// What the graph could not take as recorded, and what it had to guess. Zeros are left out.
void NoteDoubts(const GraphCounts& counts, Value& detail) {
  const std::optional<double> percent = Percent(counts.contradictions(), counts.checked_edges);
  detail.Set("contradictions", counts.contradictions());
  detail.Set("contradictions_percent", percent.value_or(0.0));
  if (percent.value_or(0.0) > kDoubtfulPercent) {
    detail.Set("doubtful", true);
  }
  const std::array<std::pair<std::string_view, std::int64_t>, 9> notes = {{
      {"stream_overlaps", counts.stream_overlaps},
      {"events_inferred", counts.inferred_events},
      {"syncs_inferred", counts.inferred_syncs},
      {"launches_into_full_queue", counts.full_queues},
      {"unmatched_communication", counts.unmatched_collectives},
      {"unreliable_matches", counts.unreliable_matches},
      {"activities_of_graphs", counts.graph_activities},
      {"activities_without_launch", counts.without_launch},
      {"threads_left_out", counts.idle_threads},
  }};
  for (const auto& [name, count] : notes) {
    if (count != 0) {
      detail.Set(name, count);
    }
  }
}

MetricResult PathLength(const RunView& run) {
  const DependencyGraph& graph = GraphOf(run);
  if (graph.empty()) {
    return NotAvailable("no step that all ranks have");
  }
  const CriticalPath path = FindCriticalPath(graph, RecordedTiming(graph));
  MetricResult result{.value = Seconds(path.length_ns())};
  Value& detail = result.detail;
  detail.Set("ranks_used", graph.rank_index.size());
  detail.Set("step", graph.step_number < 0 ? Value("none") : Value(graph.step_number));
  detail.Set("by_class", ByClass(path));
  detail.Set("per_rank", ByRank(run, graph, path));
  detail.Set("rank_changes", path.num_rank_changes);
  detail.Set("unexplained_percent", Percent(path.unexplained_ns(), path.length_ns()).value_or(0.0));
  detail.Set("num_hops", path.hops.size());
  detail.Set("longest_hops", LongestHops(run, graph, path));
  detail.Set("longest_with_slack", LongestWithSlack(run, graph));
  NoteDoubts(graph.counts, detail);
  return result;
}

constexpr std::array kLaunchBound = {TimeClass::kHost, TimeClass::kHostGap, TimeClass::kLaunch,
                                     TimeClass::kLaunchOverhead};

MetricResult LaunchBoundTime(const RunView& run) {
  const DependencyGraph& graph = GraphOf(run);
  if (graph.empty()) {
    return NotAvailable("no step that all ranks have");
  }
  const CriticalPath path = FindCriticalPath(graph, RecordedTiming(graph));
  MetricResult result;
  std::int64_t bound_ns = 0;
  for (const TimeClass time_class : kLaunchBound) {
    bound_ns += path.ClassNs(time_class);
    result.detail.Set(std::string(TimeClassName(time_class)) + "_ns", path.ClassNs(time_class));
  }
  result.value = Percent(bound_ns, path.length_ns());
  result.detail.Set("path_ns", path.length_ns());
  if (!result.value) {
    return NotAvailable("the step takes no time");
  }
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {{.name = "critical_path",
           .meaning = "Critical path of a step over all ranks",
           .unit = "s",
           .needs = {{NeedKind::kGpu}},
           .definition =
               "The length of the longest chain of dependencies of the first selected step that "
               "all ranks have: host time, launches, kernels, transfers, and delays that nothing "
               "explains. Waiting for others is never on it. Its parts sum to the step.",
           .compute = &PathLength,
           .better = Better::kLower},
          {.name = "launch_bound_time",
           .meaning = "Share of the step in which the device waited for the host to launch work",
           .unit = "%",
           .needs = {{NeedKind::kGpu}},
           .definition = "The share of the critical path in time of the host (inside operators and "
                         "calls, and between them), in launches, and in unexplained delays of "
                         "starts below the launch gap.",
           .compute = &LaunchBoundTime,
           .better = Better::kLower}};
}

}  // namespace orrery::analyze::critical_path
