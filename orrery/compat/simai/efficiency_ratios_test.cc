#include "orrery/compat/simai/efficiency_ratios.h"

#include <gtest/gtest.h>

namespace orrery::compat::simai {
namespace {

constexpr std::int64_t kMebibyte = 1 << 20;

double RatioOf(RatioTable table, int nodes, std::int64_t size) {
  return EfficiencyRatio(table, nodes, {size}).value();
}

TEST(SimaiRatiosTest, RowsAreRelativeToTheLast) {
  EXPECT_DOUBLE_EQ(RatioOf(RatioTable::kNic, 1, 16 * kMebibyte), 0.45 / 0.81);
  EXPECT_DOUBLE_EQ(RatioOf(RatioTable::kNic, 128, 8192 * kMebibyte), 0.7648 / 0.919175);
  EXPECT_DOUBLE_EQ(RatioOf(RatioTable::kAllToAll, kOneGpuEachNode, 32 * kMebibyte), 0.92 / 0.96);
  EXPECT_DOUBLE_EQ(RatioOf(RatioTable::kNvlink, 8, 16384 * kMebibyte), 1);
}

// Half candidate between 32 and 64 MiB: (0.55 + 0.65) / 2.
TEST(SimaiRatiosTest, LinearBetweenRowsAndConstantBelowTheFirst) {
  EXPECT_DOUBLE_EQ(RatioOf(RatioTable::kNic, 1, 48 * kMebibyte), 0.60 / 0.81);
  EXPECT_DOUBLE_EQ(RatioOf(RatioTable::kNic, 1, kMebibyte), 0.45 / 0.81);
  EXPECT_DOUBLE_EQ(RatioOf(RatioTable::kNic, 1, 0), 1);
}

TEST(SimaiRatiosTest, NodesWithoutColumnCountAsSixteenAndEmptyColumnsAsOne) {
  EXPECT_DOUBLE_EQ(RatioOf(RatioTable::kNic, 3, 16 * kMebibyte), 0.05 / 0.96);
  EXPECT_DOUBLE_EQ(RatioOf(RatioTable::kNvlink, 256, 16 * kMebibyte), 0.08 / 0.88);
  EXPECT_DOUBLE_EQ(RatioOf(RatioTable::kNvlink, 32, 16 * kMebibyte), 1);
}

TEST(SimaiRatiosTest, MoreThanTheTableHasIsRefused) {
  EXPECT_EQ(EfficiencyRatio(RatioTable::kNic, 1, {16384 * kMebibyte + 1}).error().message(),
            "SimAI has no efficiency above 16 GiB: 17179869185 bytes");
}

TEST(SimaiRatiosTest, UsualBandwidthsByName) {
  EXPECT_DOUBLE_EQ(UsualNvlink("H100").value(), 18 * 20.6);
  EXPECT_DOUBLE_EQ(UsualNvlink("a800").value(), 8 * 20.0);
  EXPECT_DOUBLE_EQ(UsualNic("CX7").value(), 48.5);
  EXPECT_EQ(UsualNic("CX9").error().message(),
            "SimAI knows the bandwidth of bf3, cx6, cx7, not of 'CX9'");
}

}  // namespace
}  // namespace orrery::compat::simai
