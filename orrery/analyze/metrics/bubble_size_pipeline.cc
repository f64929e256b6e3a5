#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include <fmt/core.h>

#include "orrery/analyze/card_fields.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/pipeline_bubble.h"
#include "orrery/base/statistics.h"

namespace orrery::analyze::bubble_size_pipeline {
namespace {

double Share(std::int64_t part_ns, const StageTime& stage) {
  return stage.window_ns == 0
             ? 0
             : 100.0 * static_cast<double>(part_ns) / static_cast<double>(stage.window_ns);
}

// The bubble of an ideal schedule, where the card has the required fields.
Value ScheduleBound(const RunView& run) {
  const auto stages = static_cast<double>(CardParallelSize(*run.set, "pp"));
  const auto batch = CardNumber(*run.set, "batch_size");
  if (stages <= 1 || !batch) {
    return {};
  }
  const double per_microbatch = static_cast<double>(CardParallelSize(*run.set, "dp")) *
                                CardNumber(*run.set, "pp_mb").value_or(1);
  const double chunks = CardNumber(*run.set, "pp_chunks").value_or(1);
  return 100 * (stages - 1) / (chunks * *batch / per_microbatch + stages - 1);
}

struct StageSums {
  std::vector<double> bubble;
  std::vector<double> edge;
  std::vector<double> p2p_wait;
  std::vector<double> host;
  std::vector<double> other;
};

Value StageRow(std::int32_t rank, const StageSums& sums) {
  return Value::Object()
      .Set("rank", static_cast<std::int64_t>(rank))
      .Set("bubble_percent", Mean(sums.bubble))
      .Set("edge_percent", Mean(sums.edge))
      .Set("p2p_wait_percent", Mean(sums.p2p_wait))
      .Set("host_percent", Mean(sums.host))
      .Set("other_percent", Mean(sums.other));
}

MetricResult Compute(const RunView& run) {
  const std::vector<PipelineStep> steps = MeasurePipelines(run);
  if (steps.empty()) {
    return NotAvailable(
        fmt::format("needs one rank of every stage, found {} ranks", run.set->ranks.size()));
  }
  const auto stages_needed = static_cast<std::size_t>(CardParallelSize(*run.set, "pp"));
  std::vector<double> of_steps;
  std::map<std::int32_t, StageSums> by_rank;
  for (const PipelineStep& step : steps) {
    if (step.stages.size() < stages_needed) {
      return NotAvailable(fmt::format("needs one rank of each of the {} stages, found {}",
                                      stages_needed, step.stages.size()));
    }
    std::vector<double> of_stages;
    for (const StageTime& stage : step.stages) {
      of_stages.push_back(Share(stage.bubble_ns(), stage));
      StageSums& sums = by_rank[stage.rank];
      sums.bubble.push_back(of_stages.back());
      sums.edge.push_back(Share(stage.edge_ns, stage));
      sums.p2p_wait.push_back(Share(stage.p2p_wait_ns, stage));
      sums.host.push_back(Share(stage.host_ns, stage));
      sums.other.push_back(Share(stage.other_ns, stage));
    }
    of_steps.push_back(Mean(of_stages));
  }
  MetricResult result{.value = Mean(of_steps)};
  result.detail.Set("pipelines_and_steps", steps.size());
  result.detail.Set("schedule_bound_percent", ScheduleBound(run));
  Value rows = Value::List();
  for (const auto& [rank, sums] : by_rank) {
    rows.Add(StageRow(rank, sums));
  }
  result.detail.Set("per_stage", std::move(rows));
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {{.name = "bubble_size_pipeline",
           .meaning = "Share of the step in which pipeline stages are idle",
           .unit = "%",
           .needs = {{NeedKind::kGpu}, {NeedKind::kPipeline}, {NeedKind::kPointToPoint}},
           .definition =
               "(Time before a stage's first and after its last work + waiting in pipeline "
               "sends and receives) / window of the whole pipeline; mean over stages, "
               "pipelines and steps. Late hosts are reported separately",
           .compute = &Compute,
           .better = Better::kLower}};
}

}  // namespace orrery::analyze::bubble_size_pipeline
