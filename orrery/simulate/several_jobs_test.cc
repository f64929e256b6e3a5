#include "orrery/simulate/several_jobs.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/hardware/cluster.h"
#include "orrery/simulate/explain/memory_timeline.h"
#include "orrery/simulate/simulation.h"
#include "orrery/workload/generate/jobs_test.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/model/models_test.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::simulate {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using workload::Job;

/// Data parallelism over nodes of eight GPUs; kernels are free, so that a step is communication.
Job DataParallel(std::string name, int nodes, std::int64_t layers) {
  workload::Plan plan;
  plan.dp = 8 * nodes;
  Job job = workload::JobOf(
      {.model = {"small",
                 workload::Gpt({.hidden = 1024, .layers = layers, .heads = 16, .vocabulary = 256})},
       .plan = plan});
  job.name = std::move(name);
  return job;
}

TEST(SeveralJobsTest, JobsGetWholeNodesOneAfterTheOtherOrInTurn) {
  const std::vector<Job> jobs{DataParallel("a", 3, 2), DataParallel("b", 2, 2)};
  const auto packed = PlaceJobs(jobs, JobPlacement::kPacked).value();
  EXPECT_THAT(packed[0].nodes, ElementsAre(0, 1, 2));
  EXPECT_THAT(packed[1].nodes, ElementsAre(3, 4));
  const auto spread = PlaceJobs(jobs, JobPlacement::kSpread).value();
  EXPECT_THAT(spread[0].nodes, ElementsAre(0, 2, 4));
  EXPECT_THAT(spread[1].nodes, ElementsAre(1, 3));
}

TEST(SeveralJobsTest, NodesThatCannotBeAreRefused) {
  const std::vector<Job> jobs{DataParallel("a", 1, 2), DataParallel("b", 2, 2)};
  EXPECT_THAT(PlaceJobsOn(jobs, {{0}, {0, 1}}).error().message(),
              HasSubstr("b cannot have node 0"));
  EXPECT_THAT(PlaceJobsOn(jobs, {{0}, {1}}).error().message(),
              HasSubstr("b needs 2 nodes, and its place has 1"));
  std::vector<Job> apart = jobs;
  apart[1].cluster = *hardware::FindCluster("DGX A100");
  EXPECT_THAT(PlaceJobs(apart, JobPlacement::kPacked).error().message(),
              HasSubstr("jobs are simulated together on one cluster"));
}

// Without oversubscription, jobs on nodes of their own share no link: each takes as long as alone,
// to the picosecond, however often the short one repeats its step.
TEST(SeveralJobsTest, JobsOnNodesOfTheirOwnDoNotMeet) {
  const std::vector<Job> jobs{DataParallel("long", 2, 24), DataParallel("short", 2, 4)};
  const auto placed = PlaceJobs(jobs, JobPlacement::kSpread).value();
  const auto results = SimulateTogether(placed, workload::EqualCosts(), {}).value();
  EXPECT_EQ(results[0].steps, 1);
  EXPECT_GT(results[1].steps, 1);
  for (const JobTogether& result : results) {
    EXPECT_EQ(result.together_ps, result.alone_ps);
  }
  // And that is the time of the job by itself.
  EXPECT_EQ(results[0].alone_ps, Simulate(jobs[0], workload::EqualCosts())->step_ps());
}

// All begin at once, so jobs meet until the first of them has ended, which was never without the
// others. A job of 80 layers outlasts eight steps of one of 2.
TEST(SeveralJobsTest, StepsMeetUntilTheFirstJobHasEnded) {
  const std::vector<Job> jobs{DataParallel("long", 2, 80), DataParallel("short", 2, 2)};
  const auto placed = PlaceJobs(jobs, JobPlacement::kPacked).value();
  const auto results = SimulateTogether(placed, workload::EqualCosts(), {}).value();
  ASSERT_EQ(results[1].steps, kMostSteps);
  EXPECT_EQ(results[1].steps_met, kMostSteps);
  EXPECT_NEAR(results[0].steps_met,
              kMostSteps * static_cast<double>(results[1].together_ps) /
                  static_cast<double>(results[0].together_ps),
              1e-6);
  EXPECT_LT(results[0].steps_met, 1);
}

TEST(SeveralJobsTest, MemoryAndWhatIsNotModelledAreThoseOfTheJobAlone) {
  const std::vector<Job> jobs{DataParallel("long", 2, 24), DataParallel("short", 2, 4)};
  const auto placed = PlaceJobs(jobs, JobPlacement::kSpread).value();
  const auto results = SimulateTogether(placed, workload::EqualCosts(), {}).value();
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Simulation alone = Simulate(jobs[i], workload::EqualCosts()).value();
    const MemoryAnswer memory = MemoryAnswerOf(alone.rank_classes, alone.timeline, jobs[i]);
    ASSERT_NE(results[i].summary.Fullest(), nullptr);
    EXPECT_EQ(results[i].summary.Fullest()->memory.needed_bytes,
              memory.stages[memory.fullest].needed_bytes);
    // But for what the jobs are to each other.
    const std::vector<std::string> sentences = NotModelled(jobs[i], *alone.generated, {});
    EXPECT_EQ(results[i].not_modelled.size(), sentences.size());
    EXPECT_THAT(sentences, Contains(HasSubstr("Other jobs send nothing")));
    EXPECT_THAT(results[i].not_modelled,
                Contains(HasSubstr("that are not simulated send nothing")));
  }
}

// Three nodes on each first switch, which has two cables up. Two equal jobs cross the same switches
// at the same time: both lose, and the same.
TEST(SeveralJobsTest, EqualJobsLoseTheSameAboveOversubscribedSwitches) {
  std::vector<Job> jobs{DataParallel("a", 2, 8), DataParallel("b", 2, 8)};
  for (Job& job : jobs) {
    job.cluster.fabric = {.preset = hardware::FabricPreset::kFatTree,
                          .levels = 2,
                          .radix = 26,
                          .oversubscription = 12};
  }
  const std::vector<PlacedJob> placed = PlaceJobsOn(jobs, {{0, 3}, {1, 4}}).value();
  const auto results = SimulateTogether(placed, workload::EqualCosts(), {}).value();
  EXPECT_GT(results[0].together_ps, results[0].alone_ps);
  EXPECT_EQ(results[0].together_ps, results[1].together_ps);
  EXPECT_EQ(results[0].alone_ps, results[1].alone_ps);
}

}  // namespace
}  // namespace orrery::simulate
