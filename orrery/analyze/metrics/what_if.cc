#include "orrery/analyze/graph/what_if.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/analyze/card_fields.h"
#include "orrery/analyze/graph/dependency_graph.h"
#include "orrery/analyze/graph/graph_holder.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/metrics/hockney.h"
#include "orrery/trace/kernel_class.h"

namespace orrery::analyze::what_if {
namespace {

// The class of compute kernels with the most time in the graph.
trace::KernelClass SlowestClass(const RunView& run, const DependencyGraph& graph) {
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
  return static_cast<trace::KernelClass>(std::ranges::max_element(sums_ns) - sums_ns.begin());
}

// Collects answers as rows of a table.
class Answers {
 public:
  Answers(const RunView& run, const DependencyGraph& graph) : run_(run), graph_(graph) {}

  [[nodiscard]] WhatIf Ask() const { return {run_, graph_}; }

  /// Returns how much of the step is saved, in percent.
  double Add(std::string_view question, const WhatIf& what_if) {
    const std::int64_t step_ns = what_if.StepNs();
    const double saved = Percent(graph_.step_ns() - step_ns, graph_.step_ns()).value_or(0.0);
    rows_.Add(Value::Object()
                  .Set("question", question)
                  .Set("step_s", Seconds(step_ns))
                  .Set("change_percent", saved == 0.0 ? 0.0 : -saved));
    return saved;
  }

  [[nodiscard]] Value rows() && { return std::move(rows_); }

 private:
  const RunView& run_;
  const DependencyGraph& graph_;
  Value rows_ = Value::List();
};

// The part of an all-reduce that a faster network does not shorten: the latency of its ring steps.
std::int64_t LatencyNs(const RunView& run) {
  std::string reason;
  const auto fit = FitHockney(run, reason);
  return fit && fit->alpha_s > 0
             ? static_cast<std::int64_t>(fit->alpha_s * 1e9 * 2 *
                                         static_cast<double>(fit->num_ranks - 1))
             : 0;
}

WhatIf& Apply(const WhatIfQuestion& question, std::int64_t latency_ns, WhatIf& what_if) {
  using enum WhatIfQuestion::Subject;
  const double factor = 1 / question.speedup;
  switch (question.subject) {
    case kNetwork:
      return what_if.SpeedUpNetwork({.speedup = question.speedup, .latency_ns = latency_ns});
    case kCompute:
      return what_if.ScaleActivities({.only_compute = true}, factor);
    case kKernel:
      return what_if.ScaleActivities({.kernel = question.name}, factor);
    case kOperator:
      return what_if.ScaleActivities({.from_operator = question.name}, factor);
    case kHost:
      return what_if.ScaleHost(factor);
    case kRank:
      return what_if.RemoveLateness(std::stoi(question.name));
  }
  return what_if;
}

void AnswerStandardQuestions(const RunView& run, const DependencyGraph& graph,
                             std::int64_t latency_ns, Answers& answers, MetricResult& result) {
  const trace::KernelClass slowest = SlowestClass(run, graph);
  result.value =
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
  const std::int64_t latency_ns = LatencyNs(run);
  AnswerStandardQuestions(run, graph, latency_ns, answers, result);
  for (const WhatIfQuestion& question : run.options.what_if) {
    WhatIf what_if = answers.Ask();
    result.value = answers.Add(question.text, Apply(question, latency_ns, what_if));
  }
  const CriticalPath path = FindCriticalPath(graph, RecordedTiming(graph));
  result.detail.Set("ranks_used", graph.rank_index.size());
  result.detail.Set("step", graph.step_number < 0 ? Value("none") : Value(graph.step_number));
  result.detail.Set("recorded_step_s", Seconds(graph.step_ns()));
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
      WhatIf(run, graph).SpeedUpNetwork({.speedup = 2, .ranks_per_node = *ranks_per_node}).StepNs();
  MetricResult result{.value = Percent(graph.step_ns() - faster_ns, graph.step_ns())};
  result.detail.Set("ranks_used", graph.rank_index.size());
  result.detail.Set("ranks_per_node", *ranks_per_node);
  result.detail.Set("recorded_step_s", Seconds(graph.step_ns()));
  result.detail.Set("faster_step_s", Seconds(faster_ns));
  result.detail.Set("contention_modelled", false);
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {{.name = "what_if",
           .meaning = "How much shorter the step would be with a network twice as fast, and more",
           .unit = "%",
           .needs = {{NeedKind::kGpu}},
           .definition = "The step replayed along its dependencies with other durations. The order "
                         "on every thread and stream stays as recorded, and kernels that overlap "
                         "do not slow each other down. The number is the share of the step saved "
                         "when transfers take half their time.",
           .compute = &WhatIfQuestions},
          {.name = "scale_up_bw_utility",
           .meaning = "Share of the step saved if links inside nodes had twice the bandwidth",
           .unit = "%",
           .needs = {{NeedKind::kGpu},
                     {NeedKind::kRanks},
                     {NeedKind::kMatched},
                     {.kind = NeedKind::kCard, .card_field = "count_per_node"}},
           .definition = "The step replayed with transfers of groups inside one node taking half "
                         "their time, those across nodes as recorded: 100 · (T − T′)/T.",
           .compute = &ScaleUpBwUtility}};
}

}  // namespace orrery::analyze::what_if
