#include "orrery/network/flow_simulation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/network/congestion.h"
#include "orrery/network/fair_sharing_test.h"
#include "orrery/network/presets.h"
#include "orrery/network/routing.h"
#include "orrery/network/topology.h"
#include "orrery/network/traffic_test.h"

namespace orrery::network {
namespace {

using ::testing::ElementsAre;

constexpr std::int64_t kSecond = 1'000'000'000'000;

FlowId AddOn(FlowSimulation& simulation, std::vector<LinkId> path, double bytes,
             std::int64_t start_ps = 0) {
  return simulation.Add(path, {.bytes = bytes, .start_ps = start_ps});
}

// Links 10, 10, 4; A on link 0, B on 0 and 1, C on 1 and 2: rates 5, 5, 4. B has 25 bytes and ends
// at 5 s; A has 25 of 50 left, gets all of link 0 and ends at 7.5 s; C has 40 and ends at 10 s.
TEST(FlowSimulationTest, RatesChangeWhenFlowsEnd) {
  FlowSimulation simulation(std::vector<double>{10, 10, 4});
  const FlowId a = AddOn(simulation, {0}, 50);
  AddOn(simulation, {0, 1}, 25);
  AddOn(simulation, {1, 2}, 40);

  EXPECT_EQ(simulation.rate(a), 5);
  EXPECT_THAT(simulation.Run(), ElementsAre(7 * kSecond + kSecond / 2, 5 * kSecond, 10 * kSecond));
}

// 100 bytes at 10: 30 are gone at 3 s, when a second flow comes and takes half. It has 20 bytes and
// ends at 7 s, when the first has 50 left: 12 s.
TEST(FlowSimulationTest, LaterFlowTakesItsShareFromItsStart) {
  FlowSimulation simulation(std::vector<double>{10});
  AddOn(simulation, {0}, 100);
  AddOn(simulation, {0}, 20, 3 * kSecond);

  EXPECT_THAT(simulation.Run(), ElementsAre(12 * kSecond, 7 * kSecond));
}

TEST(FlowSimulationTest, EndsAreRoundedUpToAPicosecond) {
  FlowSimulation simulation(std::vector<double>{3e12});
  AddOn(simulation, {0}, 1);
  AddOn(simulation, {0}, 0, 5);

  EXPECT_THAT(simulation.Run(), ElementsAre(1, 5));
}

TEST(FlowSimulationTest, FlowsAreAddedWhileItRuns) {
  FlowSimulation simulation(std::vector<double>{10});
  AddOn(simulation, {0}, 10);

  ASSERT_EQ(simulation.NextEventPs(), kSecond);
  EXPECT_EQ(simulation.Advance().size(), 1u);
  const FlowId next = AddOn(simulation, {0}, 20, simulation.now_ps());
  const std::span<const FlowEnd> ends = simulation.Advance();

  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ends[0].flow, next);
  EXPECT_EQ(ends[0].time_ps, 3 * kSecond);
  EXPECT_EQ(simulation.NextEventPs(), std::nullopt);
  EXPECT_TRUE(simulation.Advance().empty());
}

// A thousand flows on links of their own: every end concerns one flow, and each was filled once.
TEST(FlowSimulationTest, DisjointFlowsAreFilledOnce) {
  constexpr LinkId kFlows = 1000;
  FlowSimulation simulation(std::vector<double>(kFlows, 1e9));
  for (LinkId link = 0; link < kFlows; ++link) {
    AddOn(simulation, {link}, 1000.0 + link);
  }
  simulation.Run();

  EXPECT_EQ(simulation.work().filled_flows, kFlows);
}

// Runs by filling everything again at every event, with the plain textbook form.
std::vector<double> PlainEnds(const Traffic& traffic) {
  const std::size_t count = traffic.flows.size();
  std::vector<double> left;
  std::vector<double> end(count, -1);
  for (const TrafficFlow& flow : traffic.flows) {
    left.push_back(flow.spec.bytes);
  }
  double now = 0;
  while (std::ranges::any_of(end, [](double e) { return e < 0; })) {
    std::vector<std::size_t> active;
    std::vector<FlowDemand> demands;
    double next = std::numeric_limits<double>::infinity();
    for (std::size_t flow = 0; flow < count; ++flow) {
      const double start = static_cast<double>(traffic.flows[flow].spec.start_ps) * 1e-12;
      if (start > now * (1 + 1e-12)) {
        next = std::min(next, start);
      } else if (end[flow] < 0) {
        active.push_back(flow);
        demands.push_back(traffic.Demands()[flow]);
      }
    }
    const std::vector<double> rate = ShareFairly(traffic.capacity, demands);
    for (std::size_t i = 0; i < active.size(); ++i) {
      next = std::min(next, now + left[active[i]] / rate[i]);
    }
    for (std::size_t i = 0; i < active.size(); ++i) {
      left[active[i]] -= rate[i] * (next - now);
      if (left[active[i]] < 1e-6) {
        end[active[i]] = next;
      }
    }
    now = next;
  }
  return end;
}

std::vector<std::int64_t> FastEnds(const Traffic& traffic) {
  FlowSimulation simulation(traffic.capacity);
  for (const TrafficFlow& flow : traffic.flows) {
    simulation.Add(flow.uses, flow.spec);
  }
  return simulation.Run();
}

RC_GTEST_PROP(FlowSimulationProperty, EqualsFillingAllAtEveryEvent, ()) {
  const Traffic traffic = AnyTraffic();
  const std::vector<double> plain = PlainEnds(traffic);
  const std::vector<std::int64_t> fast = FastEnds(traffic);

  for (std::size_t flow = 0; flow < plain.size(); ++flow) {
    const double plain_ps = plain[flow] * 1e12;
    RC_ASSERT(std::abs(static_cast<double>(fast[flow]) - plain_ps) <=
              2.0 * static_cast<double>(plain.size()) + 1e-9 * plain_ps);
  }
}

// Rates while the simulation runs are those of the textbook for the flows that are under way.
RC_GTEST_PROP(FlowSimulationProperty, RatesAreFairAfterEveryEvent, ()) {
  const Traffic traffic = AnyTraffic(60);
  FlowSimulation simulation(traffic.capacity);
  for (const TrafficFlow& flow : traffic.flows) {
    simulation.Add(flow.uses, flow.spec);
  }
  std::vector<bool> ended(traffic.flows.size(), false);
  for (auto ends = simulation.Advance(); !ends.empty(); ends = simulation.Advance()) {
    for (const FlowEnd& end : ends) {
      ended[end.flow] = true;
    }
    std::vector<FlowDemand> demands;
    std::vector<double> rates;
    for (FlowId flow = 0; flow < ended.size(); ++flow) {
      const FlowSpec& spec = traffic.flows[flow].spec;
      if (!ended[flow] && spec.start_ps <= simulation.now_ps() && spec.bytes > 0) {
        demands.push_back(traffic.Demands()[flow]);
        rates.push_back(simulation.rate(flow));
      }
    }
    const std::vector<double> fair = ShareFairly(traffic.capacity, demands);
    for (std::size_t i = 0; i < fair.size(); ++i) {
      RC_ASSERT(std::abs(rates[i] - fair[i]) <= 1e-9 * fair[i]);
    }
  }
}

RC_GTEST_PROP(FlowSimulationProperty, JobsOnOtherLinksDoNotMatter, ()) {
  const Traffic one = AnyTraffic();
  const Traffic other = AnyTraffic();
  Traffic both = one;
  both.capacity.insert(both.capacity.end(), other.capacity.begin(), other.capacity.end());
  for (TrafficFlow flow : other.flows) {
    for (LinkUse& use : flow.uses) {
      use.link += static_cast<LinkId>(one.capacity.size());
    }
    both.flows.push_back(flow);
  }
  const std::vector<std::int64_t> alone = FastEnds(one);
  const std::vector<std::int64_t> together = FastEnds(both);

  for (std::size_t flow = 0; flow < alone.size(); ++flow) {
    RC_ASSERT(std::abs(alone[flow] - together[flow]) <= 1);
  }
}

RC_GTEST_PROP(FlowSimulationProperty, NumbersOfLinksDoNotMatter, ()) {
  const Traffic traffic = AnyTraffic();
  Traffic mirrored = traffic;
  std::ranges::reverse(mirrored.capacity);
  const auto last = static_cast<LinkId>(traffic.capacity.size() - 1);
  for (TrafficFlow& flow : mirrored.flows) {
    for (LinkUse& use : flow.uses) {
      use.link = last - use.link;
    }
  }
  const std::vector<std::int64_t> ends = FastEnds(traffic);
  const std::vector<std::int64_t> mirrored_ends = FastEnds(mirrored);

  for (std::size_t flow = 0; flow < ends.size(); ++flow) {
    RC_ASSERT(std::abs(ends[flow] - mirrored_ends[flow]) <= static_cast<std::int64_t>(ends.size()));
  }
}

// Two flows of 50 bytes on a link of 10 that carries 0.8 for two: 4 each. A third flow ends first.
TEST(FlowSimulationTest, CompetingFlowsLoseGoodput) {
  const Topology topology =
      MakeSingleSwitch({.num_servers = 3, .server = BareHost({.bandwidth = {10}})}).value();
  const CongestionModel congestion({.first = 1, .slope = 0.2, .floor = 0.5});
  FlowSimulation simulation(topology, {.congestion = &congestion});
  // Both go down to host 2 over link 5; links of hosts are added in pairs.
  AddOn(simulation, {0, 5}, 50);
  AddOn(simulation, {2, 5}, 50);

  EXPECT_EQ(simulation.rate(0), 4);
  EXPECT_EQ(simulation.Run()[0], kSecond * 25 / 2);
}

// A class of three equal flows ends when three flows of their own do.
RC_GTEST_PROP(FlowSimulationProperty, AClassEndsAsItsFlowsDo, ()) {
  const Traffic classes = AnyTraffic();
  Traffic single{.capacity = classes.capacity};
  std::vector<std::size_t> class_of_flow;
  for (std::size_t i = 0; i < classes.flows.size(); ++i) {
    TrafficFlow flow = classes.flows[i];
    const auto count = static_cast<int>(std::exchange(flow.spec.multiplicity, 1));
    for (int copy = 0; copy < count; ++copy) {
      single.flows.push_back(flow);
      class_of_flow.push_back(i);
    }
  }
  const std::vector<std::int64_t> class_ends = FastEnds(classes);
  const std::vector<std::int64_t> ends = FastEnds(single);

  for (std::size_t flow = 0; flow < ends.size(); ++flow) {
    RC_ASSERT(std::abs(ends[flow] - class_ends[class_of_flow[flow]]) <=
              static_cast<std::int64_t>(ends.size()));
  }
}

// The same with goodput that falls with the number of flows on a link.
RC_GTEST_PROP(FlowSimulationProperty, RatesAreFairUnderCongestion, ()) {
  const Wire wire{.bandwidth = {10e9}};
  const Topology topology =
      MakeFatTree({.down = {2, 2, 2}, .up = {1, 2, 2}, .host = wire, .fabric = wire}).value();
  const CongestionModel congestion({.first = 0.9, .slope = 0.1, .floor = 0.5});
  Router router(topology);
  FlowSimulation simulation(topology, {.congestion = &congestion});
  std::vector<std::vector<LinkUse>> uses;
  for (int flow = *rc::gen::inRange(1, 30); flow > 0; --flow) {
    const auto from = *rc::gen::inRange<GpuId>(0, 8);
    const GpuId to = (from + *rc::gen::inRange<GpuId>(1, 8)) % 8;
    uses.push_back(router.Find(from, to, static_cast<std::uint64_t>(flow))->uses);
    simulation.Add(uses.back(), {.bytes = 1e3 * *rc::gen::inRange(1, 50),
                                 .start_ps = std::int64_t{1'000'000} * *rc::gen::inRange(0, 4)});
  }
  while (!simulation.Advance().empty()) {
    std::vector<double> capacity = topology.Capacities();
    std::vector<int> competing(capacity.size(), 0);
    std::vector<FlowDemand> demands;
    std::vector<double> rates;
    for (FlowId flow = 0; flow < uses.size(); ++flow) {
      if (simulation.rate(flow) > 0) {
        demands.push_back({.uses = uses[flow]});
        rates.push_back(simulation.rate(flow));
        for (const LinkUse& use : uses[flow]) {
          ++competing[use.link];
        }
      }
    }
    for (std::size_t link = 0; link < capacity.size(); ++link) {
      capacity[link] *= congestion.Goodput(competing[link]);
    }
    const std::vector<double> fair = ShareFairly(capacity, demands);
    for (std::size_t i = 0; i < fair.size(); ++i) {
      RC_ASSERT(std::abs(rates[i] - fair[i]) <= 1e-9 * fair[i]);
    }
  }
}

// Ends at 1 s and 1.005 s are one event when ends within 1 % are merged, two when they are not.
TEST(FlowSimulationTest, NearbyEndsAreMergedOnDemand) {
  const Topology topology =
      MakeSingleSwitch({.num_servers = 2, .server = BareHost({.bandwidth = {1000}})}).value();
  FlowSimulation merged(topology, {.merge_ends_within = 0.01});
  AddOn(merged, {0}, 1000);
  AddOn(merged, {2}, 1005);
  FlowSimulation exact(topology);
  AddOn(exact, {0}, 1000);
  AddOn(exact, {2}, 1005);

  EXPECT_THAT(merged.Run(), ElementsAre(kSecond, kSecond));
  EXPECT_THAT(exact.Run(), ElementsAre(kSecond, kSecond + kSecond / 200));
}

}  // namespace
}  // namespace orrery::network
