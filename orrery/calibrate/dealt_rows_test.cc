#include "orrery/calibrate/dealt_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/calibrate/validation.h"
#include "orrery/workload/generate/small_jobs_test.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/published/published_run.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::calibrate {
namespace {

// Leaves everything open on four GPUs of a node, which are too small for the job.
workload::PublishedRun OpenRun() {
  workload::PublishedRun run;
  run.measured_s = 1;
  run.job = workload::SmallJob({.dp = 4}, 16);
  run.job.gpu.memory_size.count = 1'000'000'000;
  run.micro_batch_is_open = true;
  run.tensor_is_open = true;
  run.recompute_is_open = true;
  run.assumptions = {"as read"};
  return run;
}

TEST(DealtRowsTest, TheOutcomeCompletesARowAsItWasRead) {
  const EvaluatedRun evaluated = EvaluateRun(OpenRun(), workload::EqualCosts()).value();
  const workload::Plan& plan = evaluated.run.job.plan;
  ASSERT_GT(plan.tp, 1);
  ASSERT_EQ(plan.recompute, workload::Recompute::kFull);

  EvaluatedRun completed;
  completed.run = OpenRun();
  ApplyOutcome(EncodeOutcome(evaluated), completed);

  EXPECT_EQ(completed.predicted_s, evaluated.predicted_s);
  EXPECT_EQ(completed.interval.low_s, evaluated.interval.low_s);
  EXPECT_EQ(completed.interval.high_s, evaluated.interval.high_s);
  EXPECT_EQ(completed.traits, evaluated.traits);
  EXPECT_EQ(completed.memory_bytes, evaluated.memory_bytes);
  EXPECT_EQ(completed.allocated_bytes, evaluated.allocated_bytes);
  EXPECT_EQ(completed.fits, evaluated.fits);
  EXPECT_EQ(completed.run.assumptions, evaluated.run.assumptions);
  EXPECT_EQ(completed.run.job.training.micro_batch, evaluated.run.job.training.micro_batch);
  EXPECT_EQ(completed.run.job.plan.tp, plan.tp);
  EXPECT_EQ(completed.run.job.plan.dp, plan.dp);
  EXPECT_EQ(completed.run.job.plan.sequence_parallel, plan.sequence_parallel);
  EXPECT_EQ(completed.run.job.plan.recompute, plan.recompute);
}

}  // namespace
}  // namespace orrery::calibrate
