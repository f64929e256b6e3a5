#include "orrery/base/math/normal_distribution.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(NormalDistributionTest, Quantiles) {
  EXPECT_NEAR(NormalQuantile(0.5), 0, 1e-15);
  EXPECT_NEAR(NormalQuantile(0.975), 1.959963984540054, 1e-12);
  EXPECT_NEAR(NormalQuantile(1e-9), -5.997807015007687, 1e-9);
}

// Section 11.4 of the reference: 1.43, 2.34, 3.23 and 3.79 sigma.
TEST(NormalDistributionTest, TheSlowestOfManyRanks) {
  EXPECT_NEAR(ExpectedMaximum(8), 1.43, 0.01);
  EXPECT_NEAR(ExpectedMaximum(64), 2.34, 0.01);
  EXPECT_NEAR(ExpectedMaximum(1024), 3.23, 0.01);
  EXPECT_NEAR(ExpectedMaximum(8192), 3.79, 0.01);
  EXPECT_EQ(ExpectedMaximum(1), 0);
}

}  // namespace
}  // namespace orrery
