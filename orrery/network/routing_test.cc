#include "orrery/network/routing.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/network/presets.h"
#include "orrery/network/topology.h"

namespace orrery::network {
namespace {

using ::testing::ElementsAre;

constexpr Wire kWire{.bandwidth = {50e9}, .latency_ps = 500'000};
constexpr Wire kNvlink{.bandwidth = {400e9}, .latency_ps = 25'000, .kind = LinkKind::kNvlink};
constexpr Wire kPcie{.bandwidth = {64e9}, .latency_ps = 100'000, .kind = LinkKind::kPcie};

Server Dgx() {
  return {.nvlink = kNvlink, .pcie = kPcie, .port = kWire};
}

std::vector<LinkId> PathOf(Router& router, GpuId from, GpuId to, std::uint64_t label = 0) {
  std::vector<LinkId> path;
  EXPECT_TRUE(router.AppendPath(from, to, label, path));
  return path;
}

std::vector<std::string> NodesOf(const Topology& topology, const std::vector<LinkId>& path) {
  std::vector<std::string> names;
  for (const LinkId link : path) {
    names.push_back(topology.name(topology.link(link).to));
  }
  return names;
}

Topology Rails() {
  return MakeRailOptimised({.num_servers = 4,
                            .servers_per_block = 2,
                            .num_spines = 2,
                            .server = Dgx(),
                            .fabric = kWire})
      .value();
}

// GPUs on the same rail of a block are one leaf apart, those of a server one NVSwitch.
TEST(RoutingTest, RailsAndIslands) {
  const Topology topology = Rails();
  Router router(topology);

  EXPECT_THAT(NodesOf(topology, PathOf(router, 3, 11)),
              ElementsAre("nic0.3", "leaf3", "nic1.3", "gpu11"));
  EXPECT_THAT(NodesOf(topology, PathOf(router, 3, 4)), ElementsAre("nvswitch0", "gpu4"));
  EXPECT_EQ(router.Distance(3, 12), 6u);  // another rail: over a spine
  EXPECT_EQ(router.Find(3, 11)->latency_ps, 2 * 100'000 + 2 * 500'000);
  EXPECT_TRUE(PathOf(router, 5, 5).empty());
}

TEST(RoutingTest, ChangesTheRailInTheIslandFirst) {
  const Topology topology = Rails();
  Router router(topology, {.change_rail_in_island = true});

  EXPECT_THAT(NodesOf(topology, PathOf(router, 3, 12)),
              ElementsAre("nvswitch0", "gpu4", "nic0.4", "leaf4", "nic1.4", "gpu12"));
  EXPECT_THAT(NodesOf(topology, PathOf(router, 3, 4)), ElementsAre("nvswitch0", "gpu4"));
}

// Rails without spines meet only in islands.
TEST(RoutingTest, NamesBothEndsWhenThereIsNoWay) {
  const Topology topology = MakeRailOptimised({.num_servers = 2,
                                               .servers_per_block = 2,
                                               .num_spines = 0,
                                               .server = Dgx(),
                                               .fabric = kWire})
                                .value();
  Router router(topology);
  std::vector<LinkId> path;

  EXPECT_EQ(router.AppendPath(0, 9, 0, path).error().message(), "no path from gpu0 to gpu9");
  EXPECT_EQ(router.AppendPath(0, 16, 0, path).error().message(), "no such GPU among 16: 16");
  Router changing(topology, {.change_rail_in_island = true});
  EXPECT_EQ(changing.Distance(0, 9), 6u);
}

TEST(RoutingTest, FailedLinksAreAvoidedUntilNoneIsLeft) {
  const Topology topology =
      MakeClos(
          {.tiers = 2, .radix = 4, .num_servers = 4, .server = BareHost(kWire), .fabric = kWire})
          .value();
  Router whole(topology);
  const LinkId used = PathOf(whole, 0, 3)[1];
  Router without(topology, {.failed_links = {used}});
  for (std::uint64_t label = 0; label < 32; ++label) {
    const std::vector<LinkId> path = PathOf(without, 0, 3, label);
    EXPECT_EQ(path.size(), 4u);
    EXPECT_EQ(std::ranges::count(path, used), 0);
  }
  const NodeId leaf = topology.link(used).from;
  std::vector<LinkId> uplinks;
  for (const LinkId link : topology.out_links(leaf)) {
    if (topology.kind(topology.link(link).to) == NodeKind::kSwitch) {
      uplinks.push_back(link);
    }
  }
  Router cut(topology, {.failed_links = uplinks});
  std::vector<LinkId> path;
  EXPECT_EQ(cut.AppendPath(0, 3, 0, path).error().message(),
            "no path from gpu0 to gpu3 without the failed links");
}

// Eight flows from the hosts of one leaf over eight spines, over many seeds. Of 8^8 ways 8! are
// without collision, 0.0024; the busiest of the eight links carries at most 2 with probability
// 0.50078 and 2.5972 on average. 20,000 seeds estimate these within 0.0015, 0.015 and 0.025 (four
// standard deviations).
TEST(RoutingTest, HashedFlowsCollideAsChanceSays) {
  const Topology topology =
      MakeClos({.tiers = 2, .radix = 16, .server = BareHost(kWire), .fabric = kWire}).value();
  constexpr int kSeeds = 20'000;
  int without_collision = 0;
  int at_most_two = 0;
  int busiest_sum = 0;
  Router router(topology);
  for (int seed = 0; seed < kSeeds; ++seed) {
    std::map<LinkId, int> flows_on_uplink;
    int busiest = 0;
    for (GpuId host = 0; host < 8; ++host) {
      const std::vector<LinkId> path =
          PathOf(router, host, 8 + host, static_cast<std::uint64_t>(seed));
      busiest = std::max(busiest, ++flows_on_uplink[path[1]]);
    }
    without_collision += busiest == 1 ? 1 : 0;
    at_most_two += busiest <= 2 ? 1 : 0;
    busiest_sum += busiest;
  }
  EXPECT_NEAR(without_collision / double{kSeeds}, 0.0024033, 0.0015);
  EXPECT_NEAR(at_most_two / double{kSeeds}, 0.50078, 0.015);
  EXPECT_NEAR(busiest_sum / double{kSeeds}, 2.5972, 0.025);
}

// Three tiers with 4 · 4 ways: a hash that is the same at both tiers uses the four on its diagonal.
TEST(RoutingTest, TheSameHashAtEveryTierPolarises) {
  const Topology topology =
      MakeClos({.tiers = 3, .radix = 8, .server = BareHost(kWire), .fabric = kWire}).value();
  const auto cores_used = [&](bool same_hash) {
    Router router(topology, {.same_hash_at_every_tier = same_hash});
    std::set<std::string> cores;
    for (std::uint64_t label = 0; label < 400; ++label) {
      cores.insert(NodesOf(topology, PathOf(router, 0, 127, label))[2]);
    }
    return cores.size();
  };
  EXPECT_EQ(cores_used(false), 16u);
  EXPECT_EQ(cores_used(true), 4u);
}

// A shift of all hosts of a fat tree, spread by target, loads no link twice.
TEST(RoutingTest, ByTargetAShiftHasNoCollision) {
  const Topology topology =
      MakeFatTree({.down = {4, 4, 4}, .up = {1, 4, 4}, .host = kWire, .fabric = kWire}).value();
  Router router(topology, {.choice = PathChoice::kByTarget});
  for (const GpuId shift : {1U, 5U, 16U, 37U}) {
    std::vector<int> flows(topology.num_links(), 0);
    for (GpuId host = 0; host < 64; ++host) {
      for (const LinkId link : PathOf(router, host, (host + shift) % 64)) {
        ++flows[link];
      }
    }
    EXPECT_EQ(*std::ranges::max_element(flows), 1) << shift;
  }
}

// Four ways up and four on: links of 1, 1/4 and 1/16 of the flow.
TEST(RoutingTest, SprayingSplitsEvenly) {
  const Topology topology =
      MakeFatTree({.down = {4, 4, 4}, .up = {1, 4, 4}, .host = kWire, .fabric = kWire}).value();
  Router router(topology);
  const Route route = router.Spray(0, 63).value();
  std::map<double, int> links_by_share;
  for (const LinkUse& use : route.uses) {
    ++links_by_share[use.share];
  }
  EXPECT_EQ(links_by_share, (std::map<double, int>{{1.0, 2}, {0.25, 8}, {0.0625, 32}}));
  EXPECT_EQ(route.latency_ps, 6 * 500'000);
}

// 2,048 servers in 32 blocks of 64: the same rail of a block is 4 links away, else 6.
TEST(RoutingTest, SixteenThousandGpusOnRails) {
  const Topology topology = MakeRailOptimised({.num_servers = 2'048,
                                               .servers_per_block = 64,
                                               .num_spines = 64,
                                               .server = Dgx(),
                                               .fabric = kWire})
                                .value();
  ASSERT_EQ(topology.num_gpus(), 16'384u);
  Router router(topology);
  for (GpuId gpu = 0; gpu < topology.num_gpus(); ++gpu) {
    const GpuId to = (gpu + 256) % topology.num_gpus();  // 32 servers on, the same rail
    EXPECT_EQ(router.Distance(gpu, to), gpu / 512 == to / 512 ? 4u : 6u);
  }
}

// Both ports of a NIC are equal ways; a leaf that is cut off leaves the other.
TEST(RoutingTest, PlanesShareAFlowAndOneSurvives) {
  const Topology topology =
      MakeMultiPlane(
          {.num_servers = 2,
           .servers_per_block = 1,
           .spines_per_plane = 2,
           .server = {.ports_per_nic = 2, .nvlink = kNvlink, .pcie = kPcie, .port = kWire},
           .fabric = kWire})
          .value();
  Router router(topology);
  double largest = 0;
  const Route route = router.Spray(0, 8).value();
  for (const LinkUse& use : route.uses) {
    largest = std::max(largest, use.share);
  }
  EXPECT_EQ(largest, 0.5);

  std::vector<LinkId> failed;
  for (LinkId link = 0; link < topology.num_links(); ++link) {
    if (topology.name(topology.link(link).to) == "leaf0") {
      failed.push_back(link);
    }
  }
  Router one_plane(topology, {.failed_links = failed});
  EXPECT_EQ(one_plane.Distance(0, 8), 6u);
}

// On a 4 × 3 torus from (0, 0) to (3, 2): one down along the first side, one down along the second.
TEST(RoutingTest, DimensionOrderTakesTheShorterWayRound) {
  const Topology topology = MakeTorus({.sides = {4, 3}, .wire = kWire}).value();
  Router router(topology, {.choice = PathChoice::kDimensionOrder});

  EXPECT_THAT(NodesOf(topology, PathOf(router, 0, 11)), ElementsAre("gpu3", "gpu11"));
  EXPECT_THAT(NodesOf(topology, PathOf(router, 0, 2)), ElementsAre("gpu1", "gpu2"));
  Router around(topology,
                {.choice = PathChoice::kDimensionOrder, .failed_links = {PathOf(router, 0, 2)[0]}});
  EXPECT_THAT(NodesOf(topology, PathOf(around, 0, 2)), ElementsAre("gpu3", "gpu2"));
}

// Minimal: host, at most local, global, local, host. Valiant: at most one group more.
TEST(RoutingTest, DragonflyWays) {
  const Topology topology =
      MakeDragonfly({.hosts_per_router = 2,
                     .routers_per_group = 4,
                     .globals_per_router = 2,
                     .host = kWire,
                     .local = kWire,
                     .global = {.bandwidth = {50e9}, .latency_ps = 1'000'000}})
          .value();
  Router minimal(topology, {.choice = PathChoice::kMinimal});
  Router valiant(topology, {.choice = PathChoice::kValiant});
  const auto globals = [&](const std::vector<LinkId>& path) {
    return std::ranges::count_if(
        path, [&](LinkId link) { return topology.link(link).latency_ps == 1'000'000; });
  };
  for (GpuId to = 1; to < topology.num_gpus(); ++to) {
    const std::vector<LinkId> path = PathOf(minimal, 0, to);
    EXPECT_LE(path.size(), 5u);
    EXPECT_EQ(globals(path), to < 8 ? 0 : 1) << to;
    EXPECT_EQ(globals(PathOf(valiant, 0, to)), to < 8 ? 0 : 2) << to;
  }
}

Topology AnyTopology() {
  switch (*rc::gen::inRange(0, 5)) {
    case 0:
      return MakeClos({.tiers = 3, .radix = 4, .server = BareHost(kWire), .fabric = kWire}).value();
    case 1:
      return Rails();
    case 2:
      return MakeTorus({.sides = {3, 4, 2}, .wire = kWire}).value();
    case 3:
      return MakeDragonfly({.hosts_per_router = 1,
                            .routers_per_group = 2,
                            .globals_per_router = 1,
                            .host = kWire,
                            .local = kWire,
                            .global = kWire})
          .value();
    default:
      return MakeCubeMesh({.nvlink = kNvlink}).value();
  }
}

// Number of links by a plain search; GPUs on the way only where they forward.
std::uint32_t PlainDistance(const Topology& topology, GpuId from, GpuId to) {
  std::vector<std::uint32_t> distance(topology.num_nodes(), ~0U);
  std::vector<NodeId> queue{topology.gpu_node(from)};
  distance[queue[0]] = 0;
  for (std::size_t head = 0; head < queue.size(); ++head) {
    const NodeId at = queue[head];
    if (head > 0 && topology.kind(at) == NodeKind::kGpu && !topology.gpus_forward()) {
      continue;
    }
    for (const LinkId link : topology.out_links(at)) {
      const NodeId next = topology.link(link).to;
      if (distance[next] == ~0U) {
        distance[next] = distance[at] + 1;
        queue.push_back(next);
      }
    }
  }
  return distance[topology.gpu_node(to)];
}

RC_GTEST_PROP(RoutingProperty, PathsJoinTheirEndsAndAreShortest, ()) {
  const Topology topology = AnyTopology();
  const auto gpu = rc::gen::inRange<GpuId>(0, topology.num_gpus());
  const GpuId from = *gpu;
  const GpuId to = *gpu;
  Router router(topology, {.choice = *rc::gen::element(PathChoice::kHashed, PathChoice::kByTarget),
                           .seed = *rc::gen::arbitrary<std::uint64_t>()});
  const std::vector<LinkId> path = PathOf(router, from, to);

  NodeId at = topology.gpu_node(from);
  for (const LinkId link : path) {
    RC_ASSERT(topology.link(link).from == at);
    at = topology.link(link).to;
  }
  RC_ASSERT(at == topology.gpu_node(to));
  RC_ASSERT(path.size() == PlainDistance(topology, from, to));
}

// All of a sprayed flow leaves its source, arrives, and is kept at every node between.
RC_GTEST_PROP(RoutingProperty, SprayingKeepsTheFlow, ()) {
  const Topology topology = AnyTopology();
  const auto gpu = rc::gen::inRange<GpuId>(0, topology.num_gpus());
  const GpuId from = *gpu;
  const GpuId to = *gpu;
  RC_PRE(from != to);
  Router router(topology);
  const Route route = router.Spray(from, to).value();

  std::map<NodeId, double> surplus;
  for (const LinkUse& use : route.uses) {
    surplus[topology.link(use.link).from] -= use.share;
    surplus[topology.link(use.link).to] += use.share;
  }
  for (const auto& [node, amount] : surplus) {
    const double expected =
        node == topology.gpu_node(to) ? 1 : (node == topology.gpu_node(from) ? -1 : 0);
    RC_ASSERT(std::abs(amount - expected) < 1e-12);
  }
}

}  // namespace
}  // namespace orrery::network
