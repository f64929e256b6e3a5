#include "orrery/network/congestion.h"

#include <gtest/gtest.h>

namespace orrery::network {
namespace {

// 0.95 - 0.02 · log2(m), at least 0.8: log2 above 7.5 is at the floor.
TEST(CongestionTest, GoodputFallsWithCompetitorsToAFloor) {
  const CongestionModel ecn = FindCongestionModel("ecn").value();

  EXPECT_EQ(ecn.Goodput(0), 1);
  EXPECT_EQ(ecn.Goodput(1), 1);
  EXPECT_DOUBLE_EQ(ecn.Goodput(2), 0.93);
  EXPECT_DOUBLE_EQ(ecn.Goodput(16), 0.87);
  EXPECT_EQ(ecn.Goodput(1024), 0.8);
  EXPECT_FALSE(ecn.source.empty());
}

TEST(CongestionTest, WithoutLossAllOfALinkArrives) {
  EXPECT_EQ(FindCongestionModel("lossless")->Goodput(1000), 1);
}

TEST(CongestionTest, UnknownModelsAreToldWhatThereIs) {
  EXPECT_EQ(FindCongestionModel("red").error().message(),
            "no such congestion model; there are none, ecn, lossless, sprayed: red");
}

}  // namespace
}  // namespace orrery::network
