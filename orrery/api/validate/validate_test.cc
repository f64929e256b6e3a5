#include "orrery/api/validate.h"

#include <atomic>
#include <cmath>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/api/fields.h"
#include "orrery/api/session.h"
#include "test_paths.h"

namespace orrery::api {
namespace {

using testing::Each;
using testing::Field;
using testing::HasSubstr;
using testing::SizeIs;

ValidateRequest RequestOf(const std::string& table) {
  return {.truth = std::string(ORRERY_TEST_DATA) + "/published_runs/" + table, .threads = 1};
}

TEST(ValidateTest, EveryRowIsPredictedOrRefused) {
  const auto result = Validate(Session(), RequestOf("made.csv"));
  ASSERT_TRUE(result) << result.error().message();

  EXPECT_EQ(result->errors.rows, 8);
  EXPECT_THAT(result->predictions, SizeIs(result->errors.simulated));
  EXPECT_THAT(result->refused, SizeIs(result->errors.rows - result->errors.simulated));
  double sum = 0;
  for (const ValidatedRow& row : result->predictions) {
    EXPECT_LT(row.low_s, row.predicted_s) << row.id;
    EXPECT_GT(row.high_s, row.predicted_s) << row.id;
    sum += 100 * std::abs(row.predicted_s / row.measured_s - 1);
  }
  EXPECT_NEAR(result->errors.mape, sum / static_cast<double>(result->errors.simulated), 1e-9);
  EXPECT_TRUE(MakeDocument(*result).data == ToObject(*result));
}

TEST(ValidateTest, RowsAreChosenBySourceAndGrade) {
  ValidateRequest request = RequestOf("made.csv");
  request.source = "MADE A";
  request.grades = {"A", "A-"};
  const auto result = Validate(Session(), request);
  ASSERT_TRUE(result) << result.error().message();

  ASSERT_THAT(result->sources, SizeIs(1));
  EXPECT_EQ(result->errors.rows, result->headline.rows);

  request.grades = {"Z"};
  EXPECT_THAT(Validate(Session(), request).error().message(),
              HasSubstr("no row has the requested source and grade"));
}

TEST(ValidateTest, PlansAreRankedWithinGroups) {
  const auto result = RankPlans(Session(), RequestOf("plans.csv"));
  ASSERT_TRUE(result) << result.error().message();

  EXPECT_THAT(result->groups, SizeIs(result->errors.groups));
  EXPECT_THAT(result->groups, Each(Field(&RankedGroup::regret, testing::Ge(0))));
  EXPECT_LE(result->rows_in_groups, result->simulated);
  EXPECT_TRUE(MakeDocument(*result).data == ToObject(*result));
}

TEST(ValidateTest, WrongWordsAreRefused) {
  ValidateRequest request = RequestOf("made.csv");
  request.without = {"gravity"};
  EXPECT_THAT(Validate(Session(), request).error().message(),
              HasSubstr("--without gravity: no such mechanism; there are "));

  request = RequestOf("made.csv");
  request.network = "flows";
  EXPECT_EQ(Validate(Session(), request).error().message(),
            "--network: 'flows' is none of alone|shared");
}

TEST(ValidateTest, ACallCanBeCancelled) {
  const std::atomic<bool> stop = true;
  ValidateRequest request = RequestOf("made.csv");
  request.call.stop = &stop;
  EXPECT_EQ(Validate(Session(), request).error().message(), "the call was cancelled");
}

}  // namespace
}  // namespace orrery::api
