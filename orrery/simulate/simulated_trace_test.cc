#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "orrery/analyze/breakdown/communication_parts.h"
#include "orrery/analyze/breakdown/time_parts.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"
#include "orrery/analyze/step_time.h"
#include "orrery/simulate/ensemble_trace.h"
#include "orrery/simulate/explain/breakdown.h"
#include "orrery/simulate/explain/summary.h"
#include "orrery/simulate/simulation.h"
#include "orrery/simulate/workload_card.h"
#include "orrery/trace/collective/matched_collectives.h"
#include "orrery/trace/trace_set.h"
#include "orrery/workload/generate/jobs_test.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/model/models_test.h"
#include "orrery/workload/plan/pipeline_schedule.h"
#include "orrery/workload/plan/plan.h"

// The analysis of a simulated trace says what the simulation says.

namespace orrery::simulate {
namespace {

using workload::PipelineSchedule;

struct TracedPlan {
  PipelineSchedule schedule;
  int chunks;
  int tp;
  int dp;
  double launch_us;
};

// The last two have more ranks than traces.
constexpr std::array kPlans{TracedPlan{PipelineSchedule::k1f1b, 1, 1, 1, 0},
                            TracedPlan{PipelineSchedule::kGpipe, 1, 2, 2, 1},
                            TracedPlan{PipelineSchedule::kInterleaved, 2, 2, 2, 0.2},
                            TracedPlan{PipelineSchedule::kZeroBubbleH1, 1, 2, 2, 0.2},
                            TracedPlan{PipelineSchedule::kZeroBubbleV, 1, 2, 2, 0.2},
                            TracedPlan{PipelineSchedule::k1f1b, 1, 8, 4, 0.2},
                            TracedPlan{PipelineSchedule::kZeroBubbleH1, 1, 4, 8, 0.2}};

workload::Job JobOf(const TracedPlan& traced) {
  workload::Transformer model =
      workload::Gpt({.hidden = 1024, .layers = 8, .heads = 16, .vocabulary = 51200});
  model.is_tied = false;
  workload::Plan plan;
  plan.pp = 4;
  plan.tp = traced.tp;
  plan.dp = traced.dp;
  plan.schedule = traced.schedule;
  plan.chunks = traced.chunks;
  plan.sharding = workload::Sharding::kOptimizer;
  workload::Job job =
      workload::JobOf({.model = {"traced", model}, .plan = plan, .microbatches = 8});
  job.framework.launch_us = traced.launch_us;
  return job;
}

/// A simulated job, its trace and the view of it.
class TracedJob {
 public:
  explicit TracedJob(const TracedPlan& traced)
      : job_(JobOf(traced)),
        simulation_(Simulate(job_, workload::EqualCosts(), {.steps_before = 1}).value()),
        summary_(Summarize({&simulation_.rank_classes, &simulation_.timeline, &job_})),
        means_(MeansOf(simulation_.rank_classes, simulation_.timeline)),
        set_(EnsembleTrace(simulation_.rank_classes, simulation_.timeline,
                           {.gpu = "H100", .card = CardOf(job_)})),
        run_(analyze::ViewRun(set_, {}, {})) {}

  [[nodiscard]] const StepSummary& summary() const { return summary_; }

  [[nodiscard]] const analyze::RunView& run() const { return run_; }

  [[nodiscard]] double Percent(std::int64_t ps) const {
    return 100 * static_cast<double>(ps) / static_cast<double>(summary_.step_ps);
  }

  [[nodiscard]] const RankMeans& means() const { return means_; }

  /// The transfers of a dimension that nothing hides, on the slowest rank, in % of the step.
  [[nodiscard]] double ExposedTransfer(analyze::Dimension dimension) const {
    for (const analyze::DeviceView& device : run_.devices) {
      if (device.rank != static_cast<std::int32_t>(summary_.slowest_rank)) {
        continue;
      }
      const auto parts = analyze::CommunicationParts(run_, device);
      std::vector<std::size_t> keys;
      for (const analyze::CommunicationPart& part : parts) {
        keys.push_back(static_cast<std::size_t>(part.dimension));
      }
      const auto split =
          analyze::SplitExposure(device.compute, parts, keys, analyze::kNumDimensions);
      return 1e5 * split[static_cast<std::size_t>(dimension)].shared_transfer_ns /
             static_cast<double>(summary_.step_ps);
    }
    return -1;
  }

 private:
  workload::Job job_;
  Simulation simulation_;
  StepSummary summary_;
  RankMeans means_;
  trace::TraceSet set_;
  analyze::RunView run_;
};

std::string Described(const TracedPlan& plan) {
  return fmt::format("{}, tp {}, dp {}", workload::ScheduleName(plan.schedule), plan.tp, plan.dp);
}

TEST(SimulatedTraceTest, TheBubbleIsThatOfTheSimulation) {
  for (const TracedPlan& plan : kPlans) {
    const TracedJob traced(plan);
    double sum = 0;
    int stages = 0;
    for (const analyze::PipelineStep& step : analyze::MeasurePipelines(traced.run())) {
      for (const analyze::StageTime& stage : step.stages) {
        const double share =
            100 * static_cast<double>(stage.bubble_ns()) / static_cast<double>(stage.window_ns);
        sum += share;
        ++stages;
        if (stage.rank == static_cast<std::int32_t>(traced.summary().slowest_rank)) {
          EXPECT_NEAR(share, traced.Percent(traced.summary().breakdown.TotalPs(TimeKind::kBubble)),
                      0.1)
              << Described(plan);
        }
      }
    }
    ASSERT_GT(stages, 0) << Described(plan);
    EXPECT_NEAR(sum / stages, traced.Percent(traced.means().bubble_ps), 0.1) << Described(plan);
  }
}

TEST(SimulatedTraceTest, CommunicationIsThatOfTheSimulation) {
  using analyze::Dimension;
  for (const TracedPlan& plan : kPlans) {
    const TracedJob traced(plan);
    const analyze::MetricResult exposed =
        analyze::Evaluate(*analyze::FindMetric("exposed_comm_time"), traced.run());
    EXPECT_NEAR(
        100 * exposed.value.value_or(-1) * 1e12 / static_cast<double>(traced.summary().step_ps),
        traced.Percent(traced.means().exposed_ps), 0.01)
        << Described(plan);
    for (const auto& [name, dimension] :
         {std::pair("tp", Dimension::kTensor), std::pair("dp", Dimension::kData),
          std::pair("pp", Dimension::kPipeline)}) {
      std::int64_t transfer_ps = 0;
      for (const TimeShare& share : traced.summary().breakdown.shares) {
        const bool is_transfer = share.kind == TimeKind::kTransfer && share.what == name;
        transfer_ps += is_transfer ? share.ps : 0;
      }
      EXPECT_NEAR(traced.ExposedTransfer(dimension), traced.Percent(transfer_ps), 0.05)
          << name << " of " << Described(plan);
    }
    for (const trace::RankMatching& rank : traced.run().matched.ranks) {
      EXPECT_EQ(rank.num_unmatched, 0) << Described(plan);
    }
  }
}

}  // namespace
}  // namespace orrery::simulate
