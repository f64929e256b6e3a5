#include "orrery/simulate/explain/baselines.h"

#include <gtest/gtest.h>

#include "orrery/workload/generate/small_jobs_test.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/model/flops.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::simulate {
namespace {

using workload::Job;
using workload::Plan;

// An H100 has 989.4 TFLOP/s of bf16.
TEST(BaselinesTest, FlopsAndPeakAreThoseOfTheWholeJob) {
  Plan plan;
  plan.dp = 4;
  const Job job = workload::SmallJob(plan, 3);
  const Baselines baselines = BaselinesOf(job);
  EXPECT_DOUBLE_EQ(baselines.model_flops,
                   workload::ModelFlops(*job.model.transformer(), {job.training.sequence, 12}));
  EXPECT_DOUBLE_EQ(baselines.peak_flops, 4 * *job.gpu.PeakFlops("bf16"));
}

TEST(BaselinesTest, NothingIsFasterThanTheRoofline) {
  for (const int degree : {1, 2, 4, 8}) {
    Plan plan;
    plan.tp = degree;
    const Baselines baselines = BaselinesOf(workload::SmallJob(plan, 2));
    EXPECT_GT(baselines.roofline_s, 0);
    EXPECT_GT(baselines.analytic_s, baselines.roofline_s);
  }
}

// Each micro-batch adds the same pass; the bubble is one more pass of two stages, half of one with
// two chunks each.
TEST(BaselinesTest, StagesIdleForABubble) {
  const auto step = [](int chunks, int microbatches) {
    Plan plan;
    plan.pp = 2;
    plan.chunks = chunks;
    Job job = workload::SmallJob(plan, microbatches);
    job.cluster.nics.bandwidth.bytes_per_second = 0;  // messages cost nothing
    job.cluster.island.per_gpu.bytes_per_second = 0;
    return BaselinesOf(job).analytic_s;
  };
  const double pass = step(1, 2) - step(1, 1);
  EXPECT_NEAR(step(1, 9) - step(1, 1), 8 * pass, 1e-9);
  EXPECT_NEAR(step(1, 4) - step(2, 4), pass / 2, 1e-9);
}

}  // namespace
}  // namespace orrery::simulate
