#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/network/fair_sharing_test.h"
#include "orrery/network/topology.h"
#include "orrery/network/traffic_test.h"

namespace orrery::network {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Links 10, 10, 4; A on link 0, B on 0 and 1, C on 1 and 2. Link 2 fills first, at 4, and C stops;
// then link 0 at 5, and A and B stop. Link 1 carries 9.
TEST(FlowSharingTest, FlowsStopAtTheirFirstFullLink) {
  const std::vector<double> capacity{10, 10, 4};
  const std::vector<LinkUse> a{{0}};
  const std::vector<LinkUse> b{{0}, {1}};
  const std::vector<LinkUse> c{{1}, {2}};

  EXPECT_THAT(ShareFairly(capacity, std::vector<FlowDemand>{{a}, {b}, {c}}), ElementsAre(5, 5, 4));
}

// 12 by weights 1 and 2 is 4 and 8; a third flow of weight 3 that is capped at 3 leaves 9: 3 and 6.
TEST(FlowSharingTest, WeightsAndCaps) {
  const std::vector<double> capacity{12};
  const std::vector<LinkUse> path{{0}};
  FlowDemand one{.uses = path};
  FlowDemand two{.uses = path, .weight = 2};
  FlowDemand capped{.uses = path, .weight = 3, .cap_bytes_per_second = 3};

  EXPECT_THAT(ShareFairly(capacity, std::vector<FlowDemand>{one, two}), ElementsAre(4, 8));
  EXPECT_THAT(ShareFairly(capacity, std::vector<FlowDemand>{one, two, capped}),
              ElementsAre(3, 6, 3));
}

// A flow split evenly over two links of 10 beside one that has all of the second: a and b rise
// together until link 1 is full, a/2 + b = 10 at 20/3.
TEST(FlowSharingTest, SplitFlowTakesItsShareOfEachLink) {
  const std::vector<double> capacity{10, 10};
  const std::vector<LinkUse> split{{0, 0.5}, {1, 0.5}};
  const std::vector<LinkUse> whole{{1}};

  EXPECT_THAT(ShareFairly(capacity, std::vector<FlowDemand>{{split}, {whole}}),
              ElementsAre(DoubleNear(20.0 / 3, 1e-12), DoubleNear(20.0 / 3, 1e-12)));
}

// Three flows counted once share 12 with a single one: 3 each.
TEST(FlowSharingTest, AClassCountsAsItsFlows) {
  const std::vector<double> capacity{12};
  const std::vector<LinkUse> path{{0}};

  EXPECT_THAT(ShareFairly(capacity, std::vector<FlowDemand>{{.uses = path, .multiplicity = 3},
                                                            {.uses = path}}),
              ElementsAre(3, 3));
}

TEST(FlowSharingTest, NothingLimitsAFlowWithoutLinks) {
  EXPECT_THAT(ShareFairly({}, std::vector<FlowDemand>{{}, {.cap_bytes_per_second = 7}}),
              ElementsAre(kInfinity, 7));
}

RC_GTEST_PROP(FlowSharingProperty, NoLinkIsOverloadedAndEveryFlowHasABottleneck, ()) {
  const Traffic traffic = AnyTraffic();
  const std::vector<double> rate = ShareFairly(traffic.capacity, traffic.Demands());

  std::vector<double> load(traffic.capacity.size(), 0);
  std::vector<double> highest(traffic.capacity.size(), 0);
  for (std::size_t flow = 0; flow < rate.size(); ++flow) {
    const TrafficFlow& f = traffic.flows[flow];
    for (const LinkUse& use : f.uses) {
      load[use.link] += rate[flow] * f.spec.multiplicity * use.share;
      highest[use.link] = std::max(highest[use.link], rate[flow] / f.spec.weight);
    }
  }
  for (std::size_t link = 0; link < load.size(); ++link) {
    RC_ASSERT(load[link] <= traffic.capacity[link] * (1 + 1e-9));
  }
  for (std::size_t flow = 0; flow < rate.size(); ++flow) {
    const TrafficFlow& f = traffic.flows[flow];
    const double level = rate[flow] / f.spec.weight;
    const bool at_cap = rate[flow] >= f.spec.cap_bytes_per_second * (1 - 1e-9);
    const bool limited = std::ranges::any_of(f.uses, [&](const LinkUse& use) {
      return load[use.link] >= traffic.capacity[use.link] * (1 - 1e-9) &&
             highest[use.link] <= level * (1 + 1e-9);
    });
    RC_ASSERT((at_cap || limited));
  }
}

RC_GTEST_PROP(FlowSharingProperty, MoreCapacityNeverLowersTheLeastLevel, ()) {
  Traffic traffic = AnyTraffic();
  const auto least = [&] {
    const std::vector<double> rate = ShareFairly(traffic.capacity, traffic.Demands());
    double level = kInfinity;
    for (std::size_t flow = 0; flow < rate.size(); ++flow) {
      level = std::min(level, rate[flow] / traffic.flows[flow].spec.weight);
    }
    return level;
  };
  const double before = least();
  const auto link = *rc::gen::inRange<std::size_t>(0, traffic.capacity.size());
  traffic.capacity[link] *= 1.5;

  RC_ASSERT(least() >= before * (1 - 1e-12));
}

}  // namespace
}  // namespace orrery::network
