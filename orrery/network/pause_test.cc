#include <array>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/network/congestion.h"
#include "orrery/network/topology.h"

namespace orrery::network {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr LinkId kUplinkA = 0;
constexpr LinkId kUplinkB = 1;
constexpr LinkId kPort = 2;
constexpr LinkId kElsewhere = 3;

// Two senders at 50 into a port of 50: it pauses both uplinks half of the time. A victim that
// shares A's uplink of 100 with 50 of its own goes elsewhere, and is held to 25.
TEST(PauseTest, VictimIsHeldBackByAPortThatItDoesNotUse) {
  const std::vector<double> capacity{100, 50, 50, 100};
  const std::array<LinkId, 2> a{kUplinkA, kPort};
  const std::array<LinkId, 2> b{kUplinkB, kPort};
  const std::array<LinkId, 2> victim{kUplinkA, kElsewhere};
  const PauseReport report =
      PauseUnderLoad(capacity, std::vector<OfferedFlow>{{a, 50}, {b, 50}, {victim, 50}});

  EXPECT_THAT(report.paused_share_of_link, ElementsAre(0.5, 0.5, 0, 0));
  EXPECT_THAT(report.rate_of_flow, ElementsAre(25, 25, 25));
  EXPECT_THAT(report.victims, ElementsAre(2));
}

TEST(PauseTest, NothingPausesBelowCapacity) {
  const std::vector<double> capacity{100, 50};
  const std::array<LinkId, 2> path{0, 1};
  const PauseReport report = PauseUnderLoad(capacity, std::vector<OfferedFlow>{{path, 50}});

  EXPECT_THAT(report.paused_share_of_link, ElementsAre(0, 0));
  EXPECT_THAT(report.rate_of_flow, ElementsAre(50));
  EXPECT_THAT(report.victims, IsEmpty());
}

// A chain 0, 1, 2 with a demand of 80 before a port of 20: link 1 pauses 3/4 of the time and
// carries 25 of 100, so link 0 pauses 1 - 25/80 = 0.6875 of it.
TEST(PauseTest, PausesSpreadUpstream) {
  const std::vector<double> capacity{100, 100, 20};
  const std::array<LinkId, 3> path{0, 1, 2};
  const PauseReport report = PauseUnderLoad(capacity, std::vector<OfferedFlow>{{path, 80}});

  EXPECT_THAT(report.paused_share_of_link,
              ElementsAre(DoubleNear(0.6875, 1e-12), DoubleNear(0.75, 1e-12), 0));
  EXPECT_THAT(report.rate_of_flow, ElementsAre(20));
}

}  // namespace
}  // namespace orrery::network
