#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/calibrate/validation.h"
#include "orrery/workload/generate/small_jobs_test.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/published/published_run.h"
#include "orrery/workload/plan/plan.h"

// Every operator takes a microsecond, however large: the fewer micro-batches, the faster.

namespace orrery::calibrate {
namespace {

using workload::Job;
using workload::PublishedRun;

EvaluatedRun Evaluated(Job job, bool recompute_is_open = false) {
  PublishedRun run;
  run.measured_s = 1;
  run.job = std::move(job);
  run.micro_batch_is_open = true;
  run.recompute_is_open = recompute_is_open;
  return EvaluateRun(std::move(run), workload::EqualCosts()).value();
}

TEST(OpenKeysTest, TheMicroBatchGrowsWhileItHelps) {
  const EvaluatedRun evaluated = Evaluated(workload::SmallJob({}, 16));
  EXPECT_EQ(evaluated.run.job.training.micro_batch, 8);
  EXPECT_THAT(evaluated.run.assumptions, testing::ElementsAre("micro-batch 8"));
  EXPECT_EQ(evaluated.run.job.training.global_batch, 16);
}

TEST(OpenKeysTest, ItDividesTheBatch) {
  EXPECT_EQ(Evaluated(workload::SmallJob({}, 6)).run.job.training.micro_batch, 2);
}

TEST(OpenKeysTest, ItStaysOneWhereExpertsMakeMemoryUncertain) {
  Job job = workload::SmallJob({}, 16);
  job.model = {"experts", workload::SmallMoe()};
  EXPECT_EQ(Evaluated(std::move(job)).run.job.training.micro_batch, 1);
}

// Parameters of 131 M alone take 2 GB of states.
TEST(OpenKeysTest, ItStaysOneWhereNothingFitsAndAllIsRecomputed) {
  Job job = workload::SmallJob({}, 16);
  job.gpu.memory_size.count = 1'000'000'000;
  const EvaluatedRun evaluated = Evaluated(std::move(job), true);
  EXPECT_EQ(evaluated.run.job.training.micro_batch, 1);
  EXPECT_FALSE(evaluated.fits);
  EXPECT_EQ(evaluated.run.job.plan.recompute, workload::Recompute::kFull);
}

TEST(OpenKeysTest, WhatIsStatedStays) {
  PublishedRun run;
  run.measured_s = 1;
  run.job = workload::SmallJob({}, 16);
  const EvaluatedRun evaluated = EvaluateRun(std::move(run), workload::EqualCosts()).value();
  EXPECT_EQ(evaluated.run.job.training.micro_batch, 1);
  EXPECT_TRUE(evaluated.run.assumptions.empty());
}

}  // namespace
}  // namespace orrery::calibrate
