#include "orrery/calibrate/plan_ranking.h"

#include <cmath>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/calibrate/validation.h"
#include "orrery/workload/job/published/published_run.h"
#include "orrery/workload/model/model.h"

namespace orrery::calibrate {
namespace {

using workload::PublishedRun;

// Plans differ in tensor parallelism.
EvaluatedRun Timed(int tp, double predicted_s, double measured_s) {
  EvaluatedRun evaluated;
  evaluated.run.source = "made";
  evaluated.run.job.gpus = 64;
  evaluated.run.job.plan.tp = tp;
  evaluated.run.measured_s = measured_s;
  evaluated.predicted_s = predicted_s;
  return evaluated;
}

Validation Of(std::vector<EvaluatedRun> runs) {
  Validation validation;
  validation.rows = runs.size();
  validation.evaluated = std::move(runs);
  return validation;
}

// Predicted order: tp 2, 1, 4, 8, 16, 32. The best, tp 4 with 5 s, is third; tp 2 takes 6 s.
// d of the ranks by measured time (1: 3rd, 2: 2nd, 4: 1st, 8 …): 2-3, 1-2, 3-1, 0, 0, 0:
// 1 - 6 · 6 / (6 · 35).
TEST(PlanRankingTest, RegretIsWhatOurFirstChoiceCostsOverTheMeasuredBest) {
  const Validation validation = Of({Timed(1, 2, 7), Timed(2, 1, 6), Timed(4, 3, 5), Timed(8, 4, 8),
                                    Timed(16, 5, 9), Timed(32, 6, 10)});
  const std::vector<PlanGroup> groups = RankPlans(validation);
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].rows, 6U);
  EXPECT_EQ(groups[0].plans.front().runs.front()->run.job.plan.tp, 2);
  EXPECT_EQ(groups[0].plans[groups[0].best].runs.front()->run.job.plan.tp, 4);
  EXPECT_NEAR(groups[0].regret, 0.2, 1e-12);
  EXPECT_EQ(groups[0].best_rank, 3);
  EXPECT_TRUE(groups[0].HasBestAmongFirst());
  EXPECT_NEAR(groups[0].spearman, 1 - 36.0 / 210, 1e-12);
}

// Two runs of tp 1 take 4 and 8 s: as one plan 6 s, so that tp 2 with 5 s is the best, not the
// lucky run of 4 s.
TEST(PlanRankingTest, RunsOfOnePlanAreOneChoiceWithTheirMeanTime) {
  const Validation validation = Of({Timed(1, 1, 4), Timed(2, 2, 5), Timed(1, 1, 8), Timed(4, 3, 9),
                                    Timed(8, 4, 10), Timed(16, 5, 11)});
  const std::vector<PlanGroup> groups = RankPlans(validation);
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].rows, 6U);
  EXPECT_EQ(groups[0].plans.size(), 5U);
  EXPECT_EQ(groups[0].plans[0].runs.size(), 2U);
  EXPECT_DOUBLE_EQ(groups[0].plans[0].measured_s, 6);
  EXPECT_NEAR(groups[0].regret, 0.2, 1e-12);
  EXPECT_EQ(groups[0].best_rank, 2);
}

// The first four are predicted alike: any of 5, 6, 7 and 8 s may be chosen, the mean is 6.5 s; each
// of them has rank 2.5, and not the first one of the table rank 1.
TEST(PlanRankingTest, PlansThatArePredictedAlikeAreChosenOnAverage) {
  const Validation validation = Of({Timed(1, 1, 5), Timed(2, 1, 6), Timed(4, 1, 7), Timed(8, 1, 8),
                                    Timed(16, 2, 9), Timed(32, 3, 10)});
  const std::vector<PlanGroup> groups = RankPlans(validation);
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_NEAR(groups[0].regret, 0.3, 1e-12);
  EXPECT_EQ(groups[0].best_rank, 2.5);
}

TEST(PlanRankingTest, EqualPredictionsHaveNoOrder) {
  const Validation validation = Of({Timed(1, 1, 5), Timed(2, 1, 5), Timed(4, 1, 5), Timed(8, 1, 5),
                                    Timed(16, 1, 5), Timed(32, 1, 10)});
  const std::vector<PlanGroup> groups = RankPlans(validation);
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_TRUE(std::isnan(groups[0].spearman));
  EXPECT_EQ(groups[0].best_rank, 3.5);
  EXPECT_FALSE(groups[0].HasBestAmongFirst());
  EXPECT_TRUE(std::isnan(FiguresOf(groups).mean_spearman));
}

std::vector<EvaluatedRun> SixPlans() {
  std::vector<EvaluatedRun> runs;
  for (int tp = 1; tp <= 6; ++tp) {
    runs.push_back(Timed(tp, tp, tp));
  }
  return runs;
}

TEST(PlanRankingTest, RunsOfSmallerGroupsAndOfOnePlanAreNotJudged) {
  std::vector<EvaluatedRun> five = SixPlans();
  five.pop_back();
  EXPECT_TRUE(RankPlans(Of(five)).empty());
  EXPECT_TRUE(RankPlans(Of(std::vector<EvaluatedRun>(6, Timed(1, 1, 1)))).empty());
  EXPECT_EQ(RankPlans(Of(SixPlans())).size(), 1U);
}

// One row of six is another experiment, so that no group has six.
TEST(PlanRankingTest, WhatIsNotThePlanSeparatesGroups) {
  const auto count_with = [](const auto& change) {
    std::vector<EvaluatedRun> runs = SixPlans();
    change(runs.back().run);
    return RankPlans(Of(runs)).size();
  };
  EXPECT_EQ(count_with([](PublishedRun& run) { run.job.training.micro_batch = 2; }), 1U);
  EXPECT_EQ(count_with([](PublishedRun& run) { run.id = "another"; }), 1U);
  EXPECT_EQ(count_with([](PublishedRun& run) { run.grade = "B"; }), 1U);
  EXPECT_EQ(count_with([](PublishedRun& run) { run.source = "another"; }), 0U);
  EXPECT_EQ(count_with([](PublishedRun& run) { run.team = "another"; }), 0U);
  EXPECT_EQ(count_with([](PublishedRun& run) { run.release = "another"; }), 0U);
  EXPECT_EQ(count_with([](PublishedRun& run) { run.job.model.name = "another"; }), 0U);
  EXPECT_EQ(count_with(
                [](PublishedRun& run) { run.job.model.body = workload::Transformer{.hidden = 8}; }),
            0U);
  EXPECT_EQ(count_with([](PublishedRun& run) { run.job.gpus = 32; }), 0U);
  EXPECT_EQ(count_with([](PublishedRun& run) { run.job.gpu.power_watts = 500; }), 0U);
  EXPECT_EQ(count_with([](PublishedRun& run) { run.job.training.global_batch = 2; }), 0U);
  EXPECT_EQ(count_with([](PublishedRun& run) { run.job.training.sequence = 2; }), 0U);
  EXPECT_EQ(count_with([](PublishedRun& run) { run.job.training.precision.moment_bytes = 2; }), 0U);
  EXPECT_EQ(count_with([](PublishedRun& run) { run.job.framework.name = "another"; }), 0U);
}

// Its plan is one that we chose ourselves.
TEST(PlanRankingTest, ARowThatDoesNotStateItsPlanIsNotRanked) {
  std::vector<EvaluatedRun> runs = SixPlans();
  runs.back().run.micro_batch_is_open = true;
  EXPECT_TRUE(RankPlans(Of(runs)).empty());
}

// Regrets 0, 0.1 and 0.5; the best is 1st, 2nd and 4th.
TEST(PlanRankingTest, FiguresAreOverGroups) {
  std::vector<PlanGroup> groups(3);
  groups[0] = {.plans = {}, .regret = 0, .best_rank = 1, .spearman = 1};
  groups[1] = {.plans = {}, .regret = 0.1, .best_rank = 2, .spearman = 0.5};
  groups[2] = {.plans = {}, .regret = 0.5, .best_rank = 4, .spearman = std::nan("")};
  const RankingFigures figures = FiguresOf(groups);
  EXPECT_EQ(figures.groups, 3U);
  EXPECT_NEAR(figures.mean_regret, 0.2, 1e-12);
  EXPECT_NEAR(figures.median_regret, 0.1, 1e-12);
  EXPECT_NEAR(figures.max_regret, 0.5, 1e-12);
  EXPECT_NEAR(figures.top3_share, 2.0 / 3, 1e-12);
  EXPECT_NEAR(figures.mean_spearman, 0.75, 1e-12);
  EXPECT_TRUE(std::isnan(FiguresOf(std::vector<PlanGroup>()).mean_regret));
}

}  // namespace
}  // namespace orrery::calibrate
