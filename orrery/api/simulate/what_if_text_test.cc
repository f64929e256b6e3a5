#include <gtest/gtest.h>

#include "orrery/api/simulate/answer.h"
#include "orrery/simulate/network/group_limits.h"

namespace orrery::api {
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

TEST(SimulateOptionsTest, OtherGpusAreASettingOfTheJob) {
  EXPECT_EQ(GpuOfSetting("ranks=8-15:A100-SXM4-80GB").value(), "gpu_of.8-15=A100-SXM4-80GB");
  EXPECT_EQ(GpuOfSetting("rank=8:H200").value(), "gpu_of.8=H200");
  for (const char* text : {"", "8-15:A100", "ranks=8-15", "ranks=:A100",
                           "ranks=8-15:", "ranks=a:A100", "ranks=8.5:A100"}) {
    EXPECT_FALSE(GpuOfSetting(text)) << text;
  }
}

TEST(SimulateOptionsTest, FaultsNameANodeAndWhatIsLeft) {
  EXPECT_EQ(ParseFailedNic("node=3:nic=2").value(), (simulate::FailedNic{.node = 3, .nic = 2}));
  EXPECT_EQ(ParseSlowNode("node=3:0.5").value().share, 0.5);
  for (const char* text : {"", "node=3", "node=3:2", "node=3:nic=", "node=:nic=2", "node=3:nic=-1",
                           "node=3:nic=2x", "nic=2:node=3"}) {
    EXPECT_FALSE(ParseFailedNic(text)) << text;
  }
  for (const char* text : {"", "node=3", "node=3:0", "node=3:1.5", "node=3:nan", "node=3:nic=2"}) {
    EXPECT_FALSE(ParseSlowNode(text)) << text;
  }
}

}  // namespace
}  // namespace orrery::api
