#include "orrery/network/pause.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/network/dice_test.h"
#include "orrery/network/fair_filling.h"
#include "orrery/network/topology.h"

namespace orrery::network {
namespace {

using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;

/// Flows over paths, each with the most that it can send.
class Paused {
 public:
  explicit Paused(const std::vector<double>& capacity)
      : table_(static_cast<std::uint32_t>(capacity.size()), false),
        filling_(table_, capacity, nullptr, {}),
        pauses_(table_, capacity) {}

  FlowRow Add(const std::vector<LinkId>& path, double most) {
    std::vector<LinkPair>& pairs = pairs_.emplace_back();
    for (std::size_t i = 1; i < path.size(); ++i) {
      pairs.push_back({.before = path[i - 1], .after = path[i]});
    }
    const FlowRow row = table_.Append(std::span(path), {.cap_bytes_per_second = most});
    pauses_.SetPairs(row, pairs);
    table_.PutOnLinks(row);
    filling_.FlowAdded(row);
    return row;
  }

  void Remove(FlowRow row) {
    table_.TakeOffLinks(row);
    filling_.FlowRemoved(row);
  }

  /// By flow, in the order in which they are on links.
  std::vector<double> Levels() {
    static_cast<void>(filling_.Refill());
    static_cast<void>(pauses_.Refresh());
    std::vector<double> levels;
    for (const FlowRow row : table_.active()) {
      levels.push_back(pauses_.LevelOf(row));
    }
    return levels;
  }

  [[nodiscard]] const FlowTable& table() const { return table_; }

 private:
  FlowTable table_;
  FairFilling filling_;
  PauseSpread pauses_;
  std::vector<std::vector<LinkPair>> pairs_;
};

// Two senders at 50 into a port of 50: each gets 25, half of what it could send. A victim that
// shares A's uplink of 100 with 50 of its own goes elsewhere, and gets half of that, too.
TEST(PauseTest, VictimIsHeldBackByAPortThatItDoesNotUse) {
  constexpr LinkId kUplinkA = 0;
  constexpr LinkId kUplinkB = 1;
  constexpr LinkId kPort = 2;
  constexpr LinkId kElsewhere = 3;
  Paused paused({100, 50, 50, 100});
  paused.Add({kUplinkA, kPort}, 50);
  const FlowRow other = paused.Add({kUplinkB, kPort}, 50);
  paused.Add({kUplinkA, kElsewhere}, 50);
  EXPECT_THAT(paused.Levels(), ElementsAre(25, 25, 25));
  // The port can carry one of them, so no link pauses.
  paused.Remove(other);
  EXPECT_THAT(paused.Levels(), ElementsAre(50, 50));
}

// Zhu et al., "Congestion Control for Large-Scale RDMA Deployments" (SIGCOMM 2015), 2.2: four hosts
// send to one receiver over 40 Gb/s links, two over each uplink of their switch, and get 10 each.
// The victim on one of the uplinks goes elsewhere: 20 are left there, and the authors measured 10
// (median). Here the uplink would give each of the three 40/3, and passes 10 of them.
TEST(PauseTest, VictimOfFourSendersGetsTenOfTwentyGigabits) {
  constexpr LinkId kUplinks = 5;  // two, after those of the hosts
  constexpr LinkId kSpines = 7;   // from each uplink to the receiver's switch
  constexpr LinkId kReceiver = 9;
  constexpr LinkId kElsewhere = 10;
  Paused paused(std::vector<double>(11, 40));
  for (LinkId host = 0; host < 4; ++host) {
    paused.Add({host, kUplinks + host % 2, kSpines + host % 2, kReceiver}, 40);
  }
  paused.Add({4, kUplinks, kElsewhere}, 40);
  EXPECT_THAT(paused.Levels(), Each(DoubleNear(10, 1e-9)));
  EXPECT_NEAR(paused.table().flow(4).level, 20, 1e-9);  // without pauses
}

// A chain before a port of 20: the pause of link 1 holds a second flow on it, which makes link 0
// pause a third one. The first gets 20 of 80, so does the second of its 40: 10; the third shares
// link 0 with the second and gets a quarter as well, 5 of 20.
TEST(PauseTest, PausesSpreadUpstream) {
  Paused paused({100, 200, 20, 100, 100});
  paused.Add({1, 2}, 80);
  paused.Add({0, 1, 3}, 40);
  paused.Add({0, 4}, 20);
  EXPECT_THAT(paused.Levels(),
              ElementsAre(DoubleNear(20, 1e-9), DoubleNear(10, 1e-9), DoubleNear(5, 1e-9)));
}

// Two flows over the same links: the first one is shared, the second gets no more than it carries.
// All of it arrives, so no link pauses, and a third flow keeps the rest of the first link.
TEST(PauseTest, ALinkThatGetsNoMoreThanItCarriesDoesNotPause) {
  Paused paused({60, 40, 100});
  paused.Add({0, 1}, 100);
  paused.Add({0, 1}, 100);
  EXPECT_THAT(paused.Levels(), ElementsAre(20, 20));
  Paused even({40, 40});
  even.Add({0, 1}, 40);
  even.Add({0, 1}, 40);
  even.Add({0}, 10);
  EXPECT_THAT(even.Levels(), ElementsAre(15, 15, 10));
}

TEST(PauseTest, NothingPausesBelowCapacity) {
  Paused paused({100, 50});
  paused.Add({0, 1}, 50);
  paused.Add({0}, 50);
  EXPECT_THAT(paused.Levels(), ElementsAre(50, 50));
}

TEST(PauseTest, NoFlowIsFasterThanWithoutPauses) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Dice dice(seed);
    // Three stages of links: every path goes forward through some of them.
    Paused paused(std::vector<double>(12, 100));
    for (int flow = 0; flow < 10; ++flow) {
      std::vector<LinkId> path{static_cast<LinkId>(dice.Below(4)),
                               static_cast<LinkId>(4 + dice.Below(4)),
                               static_cast<LinkId>(8 + dice.Below(4))};
      paused.Add(path, 10.0 + static_cast<double>(dice.Below(100)));
    }
    const std::vector<double> levels = paused.Levels();
    EXPECT_EQ(levels, paused.Levels());
    for (std::size_t i = 0; i < levels.size(); ++i) {
      EXPECT_GT(levels[i], 0);
      EXPECT_LE(levels[i], paused.table().flow(paused.table().active()[i]).level);
    }
  }
}

}  // namespace
}  // namespace orrery::network
