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

#include "orrery/analyze/breakdown/idle_gaps.h"
#include "orrery/analyze/fields.h"
#include "orrery/analyze/graph/dependency_graph.h"
#include "orrery/analyze/graph/what_if.h"
#include "orrery/analyze/metric.h"
#include "orrery/base/columns.h"
#include "orrery/base/document/value.h"
#include "orrery/trace/kernel_class.h"
#include "orrery/trace/speedup.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::analyze::critical_path {
namespace {

constexpr std::size_t kNumLongest = 10;
constexpr double kDoubtfulPercent = 0.1;  // contradictions above this make the graph doubtful

std::int64_t RankAt(const RunView& run, const DependencyGraph& graph, std::uint32_t place) {
  return trace::RankOf(*run.set, graph.rank_index[place]);
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

// Adds the counts of relations that the graph could not take as recorded, or had to infer, without
// zeros.
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
  Value classes = Value::Object();
  for (int index = 0; index < kNumTimeClasses; ++index) {
    const auto time_class = static_cast<TimeClass>(index);
    if (path.ClassNs(time_class) != 0) {
      classes.Set(std::string(TimeClassName(time_class)) + "_ns", path.ClassNs(time_class));
    }
  }
  detail.Set("by_class", classes);
  Value ranks = Value::List();
  for (std::uint32_t place = 0; place < path.ns_by_place.size(); ++place) {
    ranks.Add(Value::Object()
                  .Set("rank", RankAt(run, graph, place))
                  .Set("on_path_ns", path.ns_by_place[place]));
  }
  detail.Set("per_rank", ranks);
  detail.Set("rank_changes", path.num_rank_changes);
  detail.Set("unexplained_percent", Percent(path.unexplained_ns(), path.length_ns()).value_or(0.0));
  detail.Set("num_hops", path.hops.size());
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
  detail.Set("longest_hops", rows);
  detail.Set("longest_with_slack", LongestWithSlack(run, graph));
  NoteDoubts(graph.counts, detail);
  return result;
}

constexpr std::array kLaunchBound = {TimeClass::kHost, TimeClass::kHostGap, TimeClass::kLaunch,
                                     TimeClass::kLaunchOverhead};

// Never more than the idle time. What of the critical path is the host's stands beside it: a host
// that is busy all along is on the path even where the device hardly waits for it.
MetricResult LaunchBoundTime(const RunView& run) {
  MetricResult result = MeanOverDevices(run, [&](const DeviceView& device) {
    std::int64_t waiting_ns = 0;
    for (const IdleGap& gap : FindIdleGaps(run, device)) {
      const bool is_bound =
          gap.cause == IdleCause::kHostWait || gap.cause == IdleCause::kLaunchOverhead;
      waiting_ns += is_bound ? gap.time.length_ns() : 0;
    }
    return Percent(waiting_ns, device.total.window_ns);
  });
  const DependencyGraph& graph = GraphOf(run);
  if (!graph.empty()) {
    const CriticalPath path = FindCriticalPath(graph, RecordedTiming(graph));
    for (const TimeClass time_class : kLaunchBound) {
      result.detail.Set(std::string(TimeClassName(time_class)) + "_ns", path.ClassNs(time_class));
    }
    result.detail.Set("path_ns", path.length_ns());
  }
  return result;
}

// Collects answers as rows of a table.
class Answers {
 public:
  Answers(const RunView& run, const DependencyGraph& graph) : run_(run), graph_(graph) {}

  [[nodiscard]] WhatIf Ask() const { return {run_, graph_}; }

  /// Returns how much of the step is saved, in percent.
  double Add(std::string_view question, const WhatIf& what_if) {
    const std::int64_t path_ns = what_if.PathNs();
    const double saved = 100 * SavedShare(run_, graph_, path_ns);
    if (saved > best_saved_) {
      best_saved_ = saved;
      best_ = question;
    }
    rows_.Add(Value::Object()
                  .Set("question", question)
                  .Set("step_s", ReplayedSeconds(run_, graph_, path_ns))
                  .Set("change_percent", saved == 0.0 ? 0.0 : -saved));
    return saved;
  }

  [[nodiscard]] Value rows() && { return std::move(rows_); }

  /// The change that saves most so far; empty when none saves anything.
  [[nodiscard]] const std::string& best() const { return best_; }

  [[nodiscard]] double best_saved() const { return best_saved_; }

 private:
  const RunView& run_;
  const DependencyGraph& graph_;
  Value rows_ = Value::List();
  std::string best_;
  double best_saved_ = 0;
};

void AnswerStandardQuestions(const RunView& run, const DependencyGraph& graph,
                             std::int64_t latency_ns, Answers& answers) {
  // The class of compute kernels with the most time in the graph.
  std::array<std::int64_t, trace::kNumKernelClasses> sums_ns = {};
  for (NodeId node = 0; node < graph.num_nodes(); ++node) {
    if (graph.node_kind[node] != NodeKind::kActivityEnd) {
      continue;
    }
    const std::uint32_t rank_index = graph.rank_index[graph.node_place[node]];
    const RowId row = graph.node_row[node];
    const trace::KernelClass kernel_class = run.classes[rank_index][row];
    if (trace::IsCompute(kernel_class)) {
      sums_ns[static_cast<std::size_t>(kernel_class)] +=
          run.set->ranks[rank_index].activities.duration_ns[row];
    }
  }
  const trace::KernelClass slowest =
      static_cast<trace::KernelClass>(std::ranges::max_element(sums_ns) - sums_ns.begin());
  answers.Add("network twice as fast",
              answers.Ask().SpeedUpNetwork({.speedup = 2, .latency_ns = latency_ns}));
  answers.Add("network four times as fast",
              answers.Ask().SpeedUpNetwork({.speedup = 4, .latency_ns = latency_ns}));
  answers.Add("compute twice as fast", answers.Ask().ScaleActivities({.only_compute = true}, 0.5));
  answers.Add(std::string(trace::KernelClassName(slowest)) + " kernels twice as fast",
              answers.Ask().ScaleActivities({.kernel_class = slowest}, 0.5));
  answers.Add("host twice as fast", answers.Ask().ScaleHost(0.5));
  answers.Add("no launch latency", answers.Ask().SetLaunchLatency(0));
  answers.Add("no stragglers", answers.Ask().RemoveStragglers());
  answers.Add("perfect overlap", answers.Ask().OverlapPerfectly());
}

MetricResult WhatIfQuestions(const RunView& run) {
  const DependencyGraph& graph = GraphOf(run);
  if (graph.empty()) {
    return NotAvailable("no step that all ranks have");
  }
  MetricResult result;
  Answers answers(run, graph);
  const std::int64_t latency_ns = KeptLatencyNs(run);
  AnswerStandardQuestions(run, graph, latency_ns, answers);
  result.value = answers.best_saved();
  std::string answered = answers.best();
  for (const trace::Speedup& speedup : run.options.what_if) {
    WhatIf what_if = answers.Ask();
    result.value = answers.Add(speedup.text, what_if.Apply(speedup, latency_ns));
    answered = speedup.text;
  }
  const CriticalPath path = FindCriticalPath(graph, RecordedTiming(graph));
  result.detail.Set("ranks_used", graph.rank_index.size());
  result.detail.Set("step", graph.step_number < 0 ? Value("none") : Value(graph.step_number));
  result.detail.Set("recorded_step_s", ReplayedSeconds(run, graph, graph.path_ns()));
  result.detail.Set("critical_path_s", Seconds(graph.path_ns()));
  result.detail.Set("value_of", answered.empty() ? Value() : Value(answered));
  result.detail.Set("questions", std::move(answers).rows());
  result.detail.Set("latency_kept_ns", latency_ns);
  // Unexplained delays do not change.
  result.detail.Set("unexplained_percent",
                    Percent(path.unexplained_ns(), path.length_ns()).value_or(0.0));
  result.detail.Set("contention_modelled", false);
  return result;
}

MetricResult ScaleUpBwUtility(const RunView& run) {
  const DependencyGraph& graph = GraphOf(run);
  const std::optional<std::int64_t> ranks_per_node = CardInteger(*run.set, "count_per_node");
  if (graph.empty()) {
    return NotAvailable("no step that all ranks have");
  }
  if (!ranks_per_node) {
    return NotAvailable("count_per_node in the card is not a number");
  }
  const std::int64_t faster_ns =
      WhatIf(run, graph).SpeedUpNetwork({.speedup = 2, .ranks_per_node = *ranks_per_node}).PathNs();
  MetricResult result{.value = 100 * SavedShare(run, graph, faster_ns)};
  result.detail.Set("ranks_used", graph.rank_index.size());
  result.detail.Set("ranks_per_node", *ranks_per_node);
  result.detail.Set("recorded_step_s", ReplayedSeconds(run, graph, graph.path_ns()));
  result.detail.Set("faster_step_s", ReplayedSeconds(run, graph, faster_ns));
  result.detail.Set("contention_modelled", false);
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {
      {"critical_path",
       "Length of a step's critical path over all ranks; steps overlap, so longer than the step "
       "time",
       "s", &PathLength, Better::kLower},
      {"launch_bound_time", "Share of the step in which the GPU waited for the CPU to launch work",
       "%", &LaunchBoundTime, Better::kLowerTime},
      {"what_if",
       "How much shorter the step gets by the change that helps most (--what-if: by that)", "%",
       &WhatIfQuestions},
      {"scale_up_bw_utility",
       "Share of the step saved if links inside nodes had twice the bandwidth", "%",
       &ScaleUpBwUtility, Better::kNeither,
       "GPU activity, 2 ranks, matched collectives, card count_per_node"}};
}

}  // namespace orrery::analyze::critical_path
