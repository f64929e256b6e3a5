#include "orrery/learn/search.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::learn {
namespace {

TEST(Search, KeepsTheFirstOfTheBest) {
  const std::vector<int> candidates = {3, -1, 1, 5};
  const std::vector<RowIndex> rows = {7};
  const auto outcome =
      Search<int>(candidates, {.train = rows, .validation = {}},
                  [](const int& candidate, const TrainingRows& given) -> Result<double> {
                    EXPECT_EQ(given.train.front(), 7);
                    return candidate * candidate;
                  });
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->best, 1);
  EXPECT_THAT(outcome->score_of_candidate, testing::ElementsAre(9, 1, 1, 25));
}

TEST(Search, ACandidateWithoutScoreIsNotTheBest) {
  const std::vector<double> candidates = {std::numeric_limits<double>::quiet_NaN(), 2};
  const auto identity = [](const double& candidate, const TrainingRows&) -> Result<double> {
    return candidate;
  };
  EXPECT_EQ(Search<double>(candidates, {}, identity)->best, 1);
  EXPECT_FALSE(Search<double>(std::span(candidates).first(1), {}, identity));
  EXPECT_FALSE(Search<double>({}, {}, identity));
}

TEST(Search, PassesOnWhyTrainingFailed) {
  const std::vector<int> candidates = {1};
  const auto outcome =
      Search<int>(candidates, {}, [](const int&, const TrainingRows&) -> Result<double> {
        return Fail(Error::Kind::kInvalidInput, "no rows");
      });
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().message(), "no rows");
}

}  // namespace
}  // namespace orrery::learn
