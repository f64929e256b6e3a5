#include "orrery/search/space.h"

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/search/dimensions.h"
#include "orrery/search/small_spaces_test.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/job_file.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::search {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Space SpaceOf(const std::string& section) {
  Result<Space> space = SmallSpace(SmallJobText("megatron-lm", false, section));
  EXPECT_TRUE(space.has_value()) << (space ? "" : space.error().message());
  return *std::move(space);
}

std::string RefusalOf(const std::string& section) {
  const Result<Space> space = SmallSpace(SmallJobText("megatron-lm", false, section));
  return space ? "" : space.error().message();
}

std::vector<workload::Plan> PlansOf(const Space& space) {
  std::vector<workload::Plan> plans;
  Space::Walk walk(space, 0, space.num_ids());
  while (walk.Next()) {
    plans.push_back(walk.job().plan);
  }
  return plans;
}

// Without a pipeline the schedule does not matter: tp 1 has pp 1 once and pp 2 twice.
TEST(SpaceTest, ValuesThatChangeNothingCountOnce) {
  const Space space = SpaceOf("search: {plan.pp: [1, 2], plan.schedule: [1f1b, zb-h1]}\n");
  const std::vector<workload::Plan> plans = PlansOf(space);
  ASSERT_EQ(plans.size(), 3U);
  EXPECT_EQ(plans[0].schedule, workload::PipelineSchedule::k1f1b);
  EXPECT_EQ(plans[2].schedule, workload::PipelineSchedule::kZeroBubbleH1);
}

// The settings of a plan must give that plan in `orrery simulate`, whatever the job's own values
// are.
TEST(SpaceTest, SettingsOfAPlanGiveItsJob) {
  const std::string text = SmallJobText(
      "megatron-lm", false,
      "plan: {pp: 4, schedule: interleaved, chunks: 2}\n"
      "search: {plan.pp: [1, 4], plan.schedule: [1f1b, interleaved], plan.chunks: [2]}\n");
  const Result<Space> space = SmallSpace(text);
  ASSERT_TRUE(space.has_value()) << space.error().message();
  Space::Walk walk(*space, 0, space->num_ids());
  int num_plans = 0;
  for (; walk.Next(); ++num_plans) {
    const Result<workload::JobFile> file =
        workload::ReadJob({.yaml = text, .place = "job.yaml"}, space->SettingsOf(walk.id()));
    ASSERT_TRUE(file.has_value()) << file.error().message();
    EXPECT_EQ(file->job.plan, walk.job().plan);
  }
  EXPECT_EQ(num_plans, 3);  // pp 1 once, pp 4 twice
}

// Chunks are of interleaved schedules; others have one.
TEST(SpaceTest, ChunksAreOfInterleavedSchedules) {
  const Space space =
      SpaceOf("search: {plan.pp: [4], plan.schedule: [1f1b, interleaved], plan.chunks: [2]}\n");
  const std::vector<workload::Plan> plans = PlansOf(space);
  ASSERT_EQ(plans.size(), 2U);
  EXPECT_EQ(plans[0].chunks, 1);
  EXPECT_EQ(plans[1].chunks, 2);
}

TEST(SpaceTest, OtherKeysOfAJobAreFreeToo) {
  const Space space = SpaceOf("search: {training.sequence: [2048, 4096], plan.tp: [2, 4]}\n");
  std::set<std::int64_t> sequences;
  Space::Walk walk(space, 0, space.num_ids());
  while (walk.Next()) {
    sequences.insert(walk.job().training.sequence);
  }
  EXPECT_THAT(sequences, ElementsAre(2048, 4096));
}

TEST(SpaceTest, DivisorsAndPowersOfTwo) {
  const Space space = SpaceOf("search: {plan.pp: divisors, training.micro_batch: powers_of_two}\n");
  EXPECT_THAT(space.dimensions()[1].values, ElementsAre("1", "2", "4", "8", "16"));
  EXPECT_THAT(space.dimensions()[0].values, ElementsAre("1", "2", "4", "8", "16", "32", "64"));
}

TEST(SpaceTest, TensorParallelismWithinANode) {
  const Space space = SpaceOf("search: {plan.tp: [4, 8, 16], must: [tp within node]}\n");
  EXPECT_THAT(space.dimensions()[0].values, ElementsAre("4", "8"));
}

TEST(SpaceTest, IdsAreThoseOfDigits) {
  const Space space = SpaceOf("search: {plan.tp: [1, 2, 4], plan.pp: [1, 2]}\n");
  for (PlanId id = 0; id < space.num_ids(); ++id) {
    EXPECT_EQ(space.IdOf(space.DigitsOf(id)), id);
  }
  EXPECT_THAT(space.ValuesOf(3), ElementsAre("2", "2"));
}

TEST(SpaceTest, WrongKeysAndValuesAreRefused) {
  EXPECT_THAT(RefusalOf("search: {plan.tpp: [1]}\n"), HasSubstr("tpp"));
  EXPECT_THAT(RefusalOf("search: {plam.tp: [1]}\n"), HasSubstr("the nearest is plan.tp"));
  EXPECT_THAT(RefusalOf("search: {plan.tp: []}\n"), HasSubstr("has no values"));
  EXPECT_THAT(RefusalOf("search: {plan.tp: [1, 1]}\n"), HasSubstr("twice"));
  EXPECT_THAT(RefusalOf("search: {plan.tp: [x]}\n"), HasSubstr("tp"));
  EXPECT_THAT(RefusalOf("search: {memory_share: 2, plan.tp: [1]}\n"), HasSubstr("memory_share"));
  EXPECT_THAT(RefusalOf("search: {plan.tp: [16], must: [tp within node]}\n"),
              HasSubstr("within a node"));
  EXPECT_THAT(RefusalOf("search: {}\n"), HasSubstr("frees no key"));
}

TEST(GpuCountsTest, RangesDouble) {
  EXPECT_THAT(GpuCounts("64..256").value(), ElementsAre("64", "128", "256"));
  EXPECT_THAT(GpuCounts("8,12").value(), ElementsAre("8", "12"));
  EXPECT_FALSE(GpuCounts("8..").has_value());
  EXPECT_FALSE(GpuCounts("0").has_value());
}

}  // namespace
}  // namespace orrery::search
