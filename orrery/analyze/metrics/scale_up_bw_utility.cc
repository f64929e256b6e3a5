#include <cstdint>
#include <optional>
#include <vector>

#include "orrery/analyze/aggregate.h"
#include "orrery/analyze/card_fields.h"
#include "orrery/analyze/graph/dependency_graph.h"
#include "orrery/analyze/graph/graph_holder.h"
#include "orrery/analyze/graph/what_if.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"

namespace orrery::analyze::scale_up_bw_utility {
namespace {

MetricResult Compute(const RunView& run) {
  const DependencyGraph& graph = GraphOf(run);
  const std::optional<std::int64_t> ranks_per_node = CardInteger(*run.set, "count_per_node");
  if (graph.empty()) {
    return NotAvailable("no step that all ranks have");
  }
  if (!ranks_per_node) {
    return NotAvailable("count_per_node in the card is not a number");
  }
  const std::int64_t faster_ns =
      WhatIf(run, graph)
          .SpeedUpNetwork(
              {.speedup = 2, .scope = NetworkScope::kInsideNode, .ranks_per_node = *ranks_per_node})
          .StepNs();
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
  return {{.name = "scale_up_bw_utility",
           .meaning = "Share of the step saved if links inside nodes had twice the bandwidth",
           .unit = "%",
           .needs = {{NeedKind::kGpu},
                     {NeedKind::kRanks},
                     {NeedKind::kMatched},
                     {.kind = NeedKind::kCard, .card_field = "count_per_node"}},
           .definition = "The step replayed with transfers of groups inside one node taking half "
                         "their time, those across nodes as recorded: 100 · (T − T′)/T.",
           .compute = &Compute}};
}

}  // namespace orrery::analyze::scale_up_bw_utility
