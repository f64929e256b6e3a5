#include "orrery/network/simgrid/simgrid_test.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/network/dice_test.h"
#include "orrery/network/flow_simulation.h"
#include "orrery/network/presets.h"
#include "orrery/network/routing.h"
#include "orrery/network/topology.h"

namespace orrery::network {
namespace {

// Within 0.1 %, or a nanosecond.
void ExpectTheSameEnds(std::span<const double> capacity, std::span<const simgrid::Flow> flows,
                       std::uint32_t num_hosts) {
  const Result<simgrid::Run> theirs = simgrid::Simulate(capacity, flows, num_hosts);
  ASSERT_TRUE(theirs) << theirs.error().message();
  FlowSimulation simulation(capacity);
  for (const simgrid::Flow& flow : flows) {
    simulation.Add(flow.path, {.bytes = static_cast<double>(flow.bytes),
                               .start_ps = std::llround(flow.start_seconds * 1e12)});
  }
  const std::vector<std::int64_t> ours = simulation.Run();
  for (std::size_t i = 0; i < flows.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(ours[i]) * 1e-12, theirs->end_seconds[i],
                1e-3 * theirs->end_seconds[i] + 1e-9);
  }
}

// Links of random capacity, flows over random distinct links; every flow has hosts of its own.
TEST(SimgridTest, RandomLinksAndFlowsEndAtTheSameTimes) {
  if (!simgrid::IsInstalled()) {
    GTEST_SKIP() << "skipped: SimGrid is not installed";
  }
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Dice dice(seed);
    std::vector<double> capacity(4 + dice.Below(30));
    for (double& bytes_per_second : capacity) {
      bytes_per_second = 1e9 * static_cast<double>(1 + dice.Below(100));
    }
    std::vector<simgrid::Flow> flows(1 + dice.Below(80));
    for (std::uint32_t i = 0; i < flows.size(); ++i) {
      flows[i] = {.from_host = 2 * i,
                  .to_host = 2 * i + 1,
                  .bytes = 1'000'000 + dice.Below(100'000'000),
                  .start_seconds = 1e-3 * static_cast<double>(dice.Below(4))};
      const std::uint64_t first = dice.Below(capacity.size());
      for (std::uint64_t link = 0; link <= dice.Below(4); ++link) {
        flows[i].path.push_back(static_cast<LinkId>((first + link * 3) % capacity.size()));
      }
      std::ranges::sort(flows[i].path);
      flows[i].path.erase(std::unique(flows[i].path.begin(), flows[i].path.end()),
                          flows[i].path.end());
    }
    ExpectTheSameEnds(capacity, flows, static_cast<std::uint32_t>(2 * flows.size()));
  }
}

Topology TopologyOf(std::uint64_t choice) {
  const Wire wire{.bandwidth = {50e9}};
  const Wire thin{.bandwidth = {25e9}};
  switch (choice % 4) {
    case 0:
      return MakeFatTree({.down = {4, 4, 4}, .up = {1, 2, 2}, .host = wire, .fabric = wire})
          .value();
    case 1:
      return MakeTorus({.sides = {4, 4, 4}, .wire = wire}).value();
    case 2:
      return MakeDragonfly({.hosts_per_router = 2,
                            .routers_per_group = 4,
                            .globals_per_router = 2,
                            .host = wire,
                            .local = wire,
                            .global = thin})
          .value();
    default:
      return MakeClos({.tiers = 2,
                       .radix = 16,
                       .oversubscription = 3,
                       .server = BareHost(wire),
                       .fabric = thin})
          .value();
  }
}

TEST(SimgridTest, RandomTrafficOverTopologiesEndsAtTheSameTimes) {
  if (!simgrid::IsInstalled()) {
    GTEST_SKIP() << "skipped: SimGrid is not installed";
  }
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const Topology topology = TopologyOf(seed);
    Router router(topology, {.seed = seed});
    Dice dice(seed);
    std::vector<simgrid::Flow> flows;
    for (int i = 0; i < 200; ++i) {
      simgrid::Flow flow{.from_host = static_cast<std::uint32_t>(dice.Below(topology.num_gpus())),
                         .to_host = static_cast<std::uint32_t>(dice.Below(topology.num_gpus())),
                         .bytes = 1'000'000 + dice.Below(100'000'000)};
      if (flow.from_host != flow.to_host) {
        ASSERT_TRUE(router.AppendPath(flow.from_host, flow.to_host, 0, flow.path));
        flows.push_back(flow);
      }
    }
    ExpectTheSameEnds(topology.Capacities(), flows, topology.num_gpus());
  }
}

}  // namespace
}  // namespace orrery::network
