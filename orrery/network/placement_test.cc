#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/network/presets.h"
#include "orrery/network/routing.h"
#include "orrery/network/topology.h"

namespace orrery::network {
namespace {

using ::testing::ElementsAre;

constexpr Wire kWire{.bandwidth = {50e9}, .latency_ps = 500'000};

// Four servers of eight on rails, two to a block.
Topology Rails() {
  return MakeRailOptimised({.num_servers = 4,
                            .servers_per_block = 2,
                            .num_spines = 2,
                            .server = {.nvlink = {.bandwidth = {450e9},
                                                  .latency_ps = 25'000,
                                                  .kind = LinkKind::kNvlink},
                                       .pcie = {.bandwidth = {64e9},
                                                .latency_ps = 100'000,
                                                .kind = LinkKind::kPcie},
                                       .port = kWire},
                            .fabric = kWire})
      .value();
}

TEST(PlacementTest, RanksAreGroupedByIslandInOrderOfRank) {
  const Topology topology = Rails();
  const Placement placement = Placement::Create(topology, {9, 0, 8, 3}).value();

  ASSERT_EQ(placement.islands().size(), 2u);
  EXPECT_EQ(placement.islands()[0].island, 1u);
  EXPECT_THAT(placement.islands()[0].ranks, ElementsAre(0, 2));
  EXPECT_THAT(placement.islands()[1].ranks, ElementsAre(1, 3));
}

// All 32 GPUs. Inside: twice 25 ns. Same rail, same block: slot, port, port, slot; the last server
// to the first goes over a spine, two cables more.
TEST(PlacementTest, LatenciesOfWholeServers) {
  const Topology topology = Rails();
  Router router(topology);
  const PlacementLatencies latencies =
      FindLatencies(Placement::Strided(topology, 0, 32).value(), router).value();

  EXPECT_EQ(latencies.island_ps, 50'000);
  EXPECT_EQ(latencies.neighbour_ps, 200'000 + 4 * 500'000);
}

TEST(PlacementTest, OneRankOfEachOfTwoNeighbours) {
  const Topology topology = Rails();
  Router router(topology);
  const PlacementLatencies latencies =
      FindLatencies(Placement::Strided(topology, 2, 2, 8).value(), router).value();

  EXPECT_EQ(latencies.island_ps, 0);
  EXPECT_EQ(latencies.neighbour_ps, 200'000 + 2 * 500'000);
}

TEST(PlacementTest, RanksThatCannotBePlacedAreNamed) {
  const Topology topology = Rails();
  EXPECT_EQ(Placement::Create(topology, {0, 32}).error().message(),
            "rank 1 is on GPU 32, but there are 32");
  EXPECT_EQ(Placement::Create(topology, {4, 1, 4}).error().message(),
            "ranks 0 and 2 are both on GPU 4");
  EXPECT_EQ(Placement::Create(topology, {}).error().message(), "a group needs at least one rank");
  EXPECT_EQ(Placement::Strided(topology, 8, 4, 8).error().message(),
            "rank 3 is on GPU 32, but there are 32");
}

}  // namespace
}  // namespace orrery::network
