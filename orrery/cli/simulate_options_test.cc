#include "orrery/cli/simulate_options.h"

#include <gtest/gtest.h>

namespace orrery::cli {
namespace {

TEST(SimulateOptionsTest, ASlowRankIsANumberAndAFactor) {
  const auto slow = ParseSlowRank("rank=7:1.3");
  ASSERT_TRUE(slow);
  EXPECT_EQ(slow->rank, 7U);
  EXPECT_EQ(slow->factor, 1.3);
}

TEST(SimulateOptionsTest, AnythingElseIsRefused) {
  for (const char* text : {"", "7:1.3", "rank=7", "rank=:1.3", "rank=7:", "rank=-1:2", "rank=7:0",
                           "rank=7:1.3x", "rank=7:inf", "rank=7:nan"}) {
    EXPECT_FALSE(ParseSlowRank(text)) << text;
  }
}

}  // namespace
}  // namespace orrery::cli
