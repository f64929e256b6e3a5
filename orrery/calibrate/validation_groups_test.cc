#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/calibrate/validation.h"

namespace orrery::calibrate {
namespace {

EvaluatedRun Evaluated(const std::string& id, const std::string& source, double error_percent,
                       int gpus = 1) {
  EvaluatedRun evaluated;
  evaluated.run.id = id;
  evaluated.run.source = source;
  evaluated.run.grade = "A";
  evaluated.run.measured_s = 2;
  evaluated.run.job.gpus = gpus;
  evaluated.run.job.plan.dp = gpus;
  evaluated.predicted_s = 2 * (1 + error_percent / 100);
  return evaluated;
}

// Errors +10, −20 and +60 %: mean |error| 30, median 20, bias 50 / 3.
Validation Sample() {
  Validation validation;
  validation.evaluated = {Evaluated("a", "one", 10), Evaluated("b", "one", -20, 8),
                          Evaluated("c", "two", 60, 9)};
  validation.refused = {{{"d", "two", "B", "team two", ""}, "no batch"},
                        {{"e", "two", "B", "team two", ""}, "no GPU"},
                        {{"f", "three", "C", "team three", ""}, "no GPU"}};
  validation.rows = 6;
  return validation;
}

// Refused rows count for their team too.
TEST(ValidationGroupsTest, TeamsHaveTheirOwnRows) {
  Validation validation = Sample();
  for (EvaluatedRun& evaluated : validation.evaluated) {
    evaluated.run.team = "team two";
  }
  const std::vector<ErrorGroup> groups = GroupsOf(validation, GroupKey::kTeam);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].name, "team two");
  EXPECT_EQ(groups[0].figures.rows, 5U);
  EXPECT_EQ(groups[0].figures.simulated, 3U);
  EXPECT_EQ(groups[1].figures.simulated, 0U);
}

TEST(ValidationGroupsTest, FiguresAreInPercentOfTheMeasuredTime) {
  const ErrorFigures figures = FiguresOf(Sample());
  EXPECT_EQ(figures.rows, 6U);
  EXPECT_EQ(figures.simulated, 3U);
  EXPECT_NEAR(figures.mape, 30, 1e-9);
  EXPECT_NEAR(figures.median, 20, 1e-9);
  EXPECT_NEAR(figures.max, 60, 1e-9);
  EXPECT_NEAR(figures.bias, 50.0 / 3, 1e-9);
}

// Peaks of 110 and 80 for 100, and a row without one: mean 15, bias −5.
TEST(ValidationGroupsTest, PeaksOfMemoryCountWhereTheyWereMeasured) {
  Validation validation = Sample();
  validation.evaluated[0].run.peak_allocated_bytes = 100;
  validation.evaluated[0].allocated_bytes = 110;
  validation.evaluated[2].run.peak_allocated_bytes = 100;
  validation.evaluated[2].allocated_bytes = 80;
  validation.evaluated[2].run.job.gpu.name = "other";
  const MemoryFigures figures = MemoryFiguresOf(validation);
  EXPECT_EQ(figures.rows, 2U);
  EXPECT_NEAR(figures.mape, 15, 1e-9);
  EXPECT_NEAR(figures.max, 20, 1e-9);
  EXPECT_NEAR(figures.bias, -5, 1e-9);
  const auto by_gpu = MemoryByGpu(validation);
  ASSERT_EQ(by_gpu.size(), 2U);
  EXPECT_EQ(by_gpu[1].first, "other");
  EXPECT_NEAR(by_gpu[1].second.bias, -20, 1e-9);
}

TEST(ValidationGroupsTest, RefusedRowsCountInTheirSource) {
  const std::vector<ErrorGroup> groups = GroupsOf(Sample(), GroupKey::kSource);
  ASSERT_EQ(groups.size(), 3U);
  EXPECT_EQ(groups[0].name, "one");
  EXPECT_EQ(groups[0].figures.rows, 2U);
  EXPECT_NEAR(groups[0].figures.mape, 15, 1e-9);
  EXPECT_EQ(groups[1].figures.rows, 3U);
  EXPECT_EQ(groups[1].figures.simulated, 1U);
  EXPECT_EQ(groups[2].name, "three");
  EXPECT_EQ(groups[2].figures.simulated, 0U);
  EXPECT_TRUE(std::isnan(groups[2].figures.mape));
  EXPECT_TRUE(std::isnan(groups[2].figures.max));
}

TEST(ValidationGroupsTest, ScalesHaveTheirOwnOrderAndEmptyOnesAreLeftOut) {
  Validation validation = Sample();
  std::swap(validation.evaluated.front(), validation.evaluated.back());
  const std::vector<ErrorGroup> groups = GroupsOf(validation, GroupKey::kScale);
  ASSERT_EQ(groups.size(), 3U);
  EXPECT_EQ(groups[0].name, "1 GPU");
  EXPECT_EQ(groups[1].name, "2-8 GPUs");
  EXPECT_EQ(groups[2].name, "9-64 GPUs");
}

TEST(ValidationGroupsTest, ARunIsInTheGroupOfEachOfItsDimensions) {
  Validation validation;
  validation.evaluated = {Evaluated("a", "one", 10, 64)};
  validation.evaluated.front().run.job.plan.tp = 8;
  validation.evaluated.front().run.job.plan.dp = 8;
  std::vector<std::string> names;
  for (const ErrorGroup& group : GroupsOf(validation, GroupKey::kDimension)) {
    names.push_back(group.name);
  }
  EXPECT_THAT(names, testing::ElementsAre("data", "tensor"));
}

TEST(ValidationGroupsTest, TheWorstRunComesFirstWhateverItsSign) {
  Validation validation = Sample();
  validation.evaluated[0].predicted_s = 0.2;  // −90 %
  const std::vector<const EvaluatedRun*> worst = WorstRuns(validation, 2);
  ASSERT_EQ(worst.size(), 2U);
  EXPECT_EQ(worst[0]->run.id, "a");
  EXPECT_EQ(worst[1]->run.id, "c");
}

TEST(ValidationGroupsTest, ReasonsAreCountedMostFrequentFirst) {
  const std::vector<RefusalGroup> groups = RefusalsOf(Sample());
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].reason, "no GPU");
  EXPECT_EQ(groups[0].rows, 2U);
  EXPECT_EQ(groups[0].first_id, "e");
}

}  // namespace
}  // namespace orrery::calibrate
