#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/ensembles_test.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/simulate/explain/advice.h"
#include "orrery/simulate/explain/breakdown.h"
#include "orrery/simulate/explain/summary.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {
namespace {

StageSummary Stage(std::uint32_t stage, std::int64_t busy_ps, const std::string& gpu = "") {
  return {.stage = stage,
          .memory = {},
          .gpu = gpu,
          .name = "stage " + std::to_string(stage),
          .busy_ps = busy_ps};
}

// Rank 0 of a pipeline of 1000 ps a step, of which it computes for `busy_ps` and waits else.
StepSummary Pipeline(std::int64_t busy_ps, std::vector<StageSummary> stages) {
  StepSummary summary;
  summary.step_ps = 1000;
  summary.breakdown.step_ps = 1000;
  summary.breakdown.shares = {{TimeKind::kCompute, "products", busy_ps},
                              {TimeKind::kBubble, "", 1000 - busy_ps}};
  summary.has_pipeline = true;
  summary.stages = std::move(stages);
  return summary;
}

TEST(StageBalanceTest, WorkIsKernelsAndCommunicationInsideOfAStage) {
  Breakdown breakdown;
  breakdown.shares = {{TimeKind::kCompute, "products", 1}, {TimeKind::kOptimizer, "", 2},
                      {TimeKind::kTransfer, "tp", 4},      {TimeKind::kTransfer, "pp", 8},
                      {TimeKind::kBubble, "", 16},         {TimeKind::kWait, "tp", 32},
                      {TimeKind::kHost, "", 64},           {TimeKind::kIdle, "", 128}};
  EXPECT_EQ(BusyPs(breakdown), 1 + 2 + 4);
}

// 840 beside 420, 400 and 410: the mean of the others is 410, that of all 2070 / 4 = 517.
TEST(StageBalanceTest, TheStageWithMostToDoBinds) {
  const auto binding =
      BindingStageOf(Pipeline(420, {Stage(0, 420), Stage(1, 400), Stage(2, 410), Stage(3, 840)}));
  ASSERT_TRUE(binding);
  EXPECT_EQ(binding->label, "stage 3");
  EXPECT_EQ(binding->busy_ps, 840);
  EXPECT_EQ(binding->others_ps, 410);
  EXPECT_EQ(binding->excess_ps, 840 - 517);
}

// A stage is as slow as the slowest of its GPUs: 600 and 600 are equal stages.
TEST(StageBalanceTest, GpusOfOneStageAreNoStages) {
  const auto binding =
      BindingStageOf(Pipeline(600, {Stage(0, 300, "H100"), Stage(0, 600, "A100"),
                                    Stage(1, 300, "H100"), Stage(1, 600, "A100")}));
  ASSERT_TRUE(binding);
  EXPECT_EQ(binding->label, "stage 0, A100");
  EXPECT_EQ(binding->excess_ps, 0);
  EXPECT_EQ(BindingStageOf(Pipeline(600, {Stage(0, 300, "H100"), Stage(0, 600, "A100")})),
            std::nullopt);
}

TEST(StageBalanceTest, WithoutStagesNoneBinds) {
  StageSummary rank = Stage(0, 100);
  rank.stage.reset();
  EXPECT_EQ(BindingStageOf(Pipeline(100, {rank, rank})), std::nullopt);
  EXPECT_EQ(BindingStageOf(Pipeline(100, {})), std::nullopt);
}

// Stage 3 is busy for 840 ps, 322 above the mean of 517, and waits itself for 160.
TEST(StageBalanceTest, TheStageThatBindsIsNamed) {
  EXPECT_EQ(BottleneckSentence(
                Pipeline(840, {Stage(0, 420), Stage(1, 420), Stage(2, 420), Stage(3, 840)})),
            "Stage 3, busy for 84 % of the step; the other stages are busy for 42 % on "
            "average.");
}

// 460 − 445 = 15 ps above the mean explain little of the 540 ps that stage 3 waits.
TEST(StageBalanceTest, ABubbleThatUnequalStagesDoNotExplainIsThatOfTheTable) {
  EXPECT_EQ(BottleneckSentence(
                Pipeline(460, {Stage(0, 440), Stage(1, 440), Stage(2, 440), Stage(3, 460)})),
            "Mostly the pipeline's bubble, 54 % of the step.");
}

// Two ranks whose second one gets a message of 5 ps after the first has worked 100 ps, and works
// 300 ps itself.
workload::Ensemble TwoStages() {
  workload::Ensemble ensemble;
  ensemble.num_roles = 1;
  for (const std::int64_t duration_ps : {100, 300}) {
    RankWriter rank({"pp forward 0"});
    const bool is_first = duration_ps == 100;
    const workload::TaskId early = is_first ? rank.Kernel(duration_ps) : rank.Message(0, 5);
    const workload::TaskId late = is_first ? rank.Message(0, 5) : rank.Kernel(duration_ps);
    rank.After(early, late);
    ensemble.programs.push_back(std::move(rank.program));
    AddRank(ensemble, static_cast<workload::ProgramId>(is_first ? 0 : 1));
  }
  Join(ensemble, 0, {0, 1});
  return ensemble;
}

StepSummary SummaryOf(const workload::Ensemble& ensemble) {
  const RankClasses rank_classes = Fold(ensemble, IslandLinkClass(8));
  PlainTimes times;
  const Timeline timeline = *Simulate(rank_classes, times);
  return Summarize({&rank_classes, &timeline, nullptr});
}

TEST(StageBalanceTest, StagesOfASimulatedPipelineAreNamedAndTimed) {
  const StepSummary summary = SummaryOf(TwoStages());
  EXPECT_EQ(summary.step_ps, 405);
  EXPECT_TRUE(summary.has_pipeline);
  ASSERT_EQ(summary.stages.size(), 2U);
  EXPECT_EQ(summary.stages[0].name, "stage 0");
  EXPECT_EQ(summary.stages[0].busy_ps, 100);
  EXPECT_EQ(summary.stages[1].name, "stage 1");
  EXPECT_EQ(summary.stages[1].busy_ps, 300);
  EXPECT_EQ(summary.slowest_rank, 1U);
  EXPECT_EQ(summary.breakdown.TotalPs(TimeKind::kBubble), 100);
}

// Both ranks compute 100 ps and sum up; then rank 0 ends last, by an optimizer of 10 ps, although
// rank 1 has computed 300 ps and everyone waited for it.
TEST(StageBalanceTest, TheSlowestRankIsNotTheOneThatEndsLast) {
  workload::Ensemble ensemble;
  ensemble.num_roles = 1;
  for (const std::int64_t duration_ps : {100, 300}) {
    RankWriter rank({"dp"});
    const workload::TaskId sum = rank.Message(0, 5);
    rank.After(rank.Kernel(duration_ps), sum);
    if (duration_ps == 100) {
      rank.After(sum, rank.Kernel(10));
    }
    ensemble.programs.push_back(std::move(rank.program));
    AddRank(ensemble, static_cast<workload::ProgramId>(ensemble.programs.size() - 1));
  }
  Join(ensemble, 0, {0, 1});
  const StepSummary summary = SummaryOf(ensemble);
  EXPECT_EQ(summary.slowest_rank, 1U);
  EXPECT_EQ(summary.breakdown.TotalPs(TimeKind::kWait), 0);
}

// If the stages of programs are not known, ranks are named; two of one stage have both.
TEST(StageBalanceTest, RanksAreNamedWhereStagesAreNotKnown) {
  workload::Ensemble ensemble = TwoStages();
  ensemble.knows_stages = false;
  const StepSummary summary = SummaryOf(ensemble);
  EXPECT_TRUE(summary.has_pipeline);
  EXPECT_EQ(summary.stages[1].stage, std::nullopt);
  EXPECT_EQ(summary.stages[1].name, "rank 1 of 2");
  ensemble.knows_stages = true;
  ensemble.stage_of_program = {3, 3};
  EXPECT_EQ(SummaryOf(ensemble).stages[1].name, "stage 3, rank 1");
}

}  // namespace
}  // namespace orrery::simulate
