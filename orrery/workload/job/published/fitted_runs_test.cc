#include "orrery/workload/job/published/fitted_runs.h"

#include <gtest/gtest.h>

#include "orrery/base/error.h"

namespace orrery::workload {
namespace {

constexpr const char* kFits = R"yaml(
fits:
  - {framework: nemo, stacks: [NVIDIA], teams: [Dell, NVIDIA]}
  - {framework: composer-fsdp, stacks: [Composer], teams: [MosaicML]}
)yaml";

TEST(FittedRunsTest, ARunIsSeenByItsStackOrByItsTeam) {
  const auto runs = ReadFittedRuns(kFits);
  ASSERT_TRUE(runs);
  EXPECT_TRUE(runs->HaveSeen("NVIDIA", "Oracle"));    // its code
  EXPECT_TRUE(runs->HaveSeen("torchtitan", "Dell"));  // its machines
  EXPECT_FALSE(runs->HaveSeen("DeepSeek", "DeepSeek"));
}

TEST(FittedRunsTest, ShippedScalarsWereFittedToRunsThatTheyName) {
  EXPECT_TRUE(ShippedFittedRuns().HaveSeen("NVIDIA", ""));
  EXPECT_TRUE(ShippedFittedRuns().HaveSeen("", "KAIST"));
  EXPECT_FALSE(ShippedFittedRuns().HaveSeen("MegaScale", "ByteDance"));
}

TEST(FittedRunsTest, AFileThatIsNoYamlIsRefused) {
  EXPECT_FALSE(ReadFittedRuns("fits: [{"));
}

}  // namespace
}  // namespace orrery::workload
