#include "orrery/base/units.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(UnitsTest, DurationsAddAndSubtract) {
  EXPECT_EQ(Duration{5} + Duration{7}, Duration{12});
  EXPECT_EQ(Duration{5} - Duration{7}, Duration{-2});
  EXPECT_LT(Duration{5}, Duration{7});
}

TEST(UnitsTest, ADurationLiesBetweenTwoPoints) {
  const TimePoint begin{1'700'000'000'000'000'001};
  const TimePoint end = begin + Duration{42};

  EXPECT_EQ(end - begin, Duration{42});
  EXPECT_GT(end, begin);
}

TEST(UnitsTest, BytesAdd) {
  EXPECT_EQ(Bytes{1} + Bytes{2}, Bytes{3});
}

}  // namespace
}  // namespace orrery
