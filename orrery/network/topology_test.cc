#include "orrery/network/topology.h"

#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::network {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr Wire kWire{.bandwidth = {50e9}, .latency_ps = 500'000};
constexpr Wire kNvlink{.bandwidth = {400e9}, .kind = LinkKind::kNvlink};

// Two GPUs on a switch, to be spoilt.
struct Pair {
  TopologyBuilder builder;
  NodeId one = builder.AddGpu("gpu0");
  NodeId leaf = builder.AddNode(NodeKind::kSwitch, "leaf");
  NodeId other = builder.AddGpu("gpu1");

  Pair() {
    builder.AddCable(one, leaf, kWire);
    builder.AddCable(other, leaf, kWire);
  }

  std::string Message() { return std::move(builder).Build().error().message(); }
};

TEST(TopologyTest, LinksLieInRowsOfTheirNodes) {
  Pair pair;
  const Topology topology = std::move(pair.builder).Build().value();

  EXPECT_EQ(topology.num_gpus(), 2u);
  EXPECT_EQ(topology.num_links(), 4u);
  EXPECT_EQ(topology.gpu_node(1), pair.other);
  EXPECT_THAT(topology.out_links(pair.leaf), ElementsAre(1, 3));
  EXPECT_THAT(topology.in_links(pair.leaf), ElementsAre(0, 2));
  EXPECT_EQ(topology.LinkName(3), "leaf → gpu1");
}

// Two servers of two GPUs with NVLink and a NIC: NICs belong to the island, leaves do not.
TEST(TopologyTest, IslandsEndAtTheNetwork) {
  TopologyBuilder builder;
  const NodeId leaf = builder.AddNode(NodeKind::kSwitch, "leaf");
  for (int server = 0; server < 2; ++server) {
    const NodeId one = builder.AddGpu("a");
    const NodeId other = builder.AddGpu("b");
    const NodeId nic = builder.AddNode(NodeKind::kNic, "nic");
    builder.AddCable(one, other, kNvlink);
    builder.AddCable(one, nic, {.bandwidth = {64e9}, .kind = LinkKind::kPcie});
    builder.AddCable(nic, leaf, kWire);
  }
  const Topology topology = std::move(builder).Build().value();

  ASSERT_EQ(topology.num_islands(), 2u);
  EXPECT_THAT(topology.island_gpus(1), ElementsAre(2, 3));
  EXPECT_EQ(topology.island(3), 1u);
  EXPECT_EQ(topology.rail(3), 1u);
}

TEST(TopologyTest, LinksAreFoundByNameAndScaled) {
  Pair pair;
  const Topology topology = std::move(pair.builder).Build().value();
  const LinkId link = topology.FindLink("gpu1", "leaf").value();
  const Topology slow = topology.WithScaledLinks(std::vector<LinkId>{link}, 0.5).value();

  EXPECT_EQ(slow.link(link).bandwidth.bytes_per_second, 25e9);
  EXPECT_EQ(slow.link(0).bandwidth.bytes_per_second, 50e9);
  EXPECT_EQ(topology.FindLink("gpu7", "leaf").error().message(), "no such node: gpu7");
  EXPECT_EQ(topology.FindLink("gpu0", "gpu1").error().message(), "no link leads from gpu0 to gpu1");
  EXPECT_EQ(topology.WithScaledLinks({}, 0).error().message(),
            "bandwidth must be scaled by a factor above zero: 0");
}

TEST(TopologyTest, LinksWithoutBandwidthAreRefusedByName) {
  Pair pair;
  pair.builder.AddLink(pair.one, pair.other, {.bandwidth = {0}});
  EXPECT_EQ(pair.Message(), "bandwidth of link gpu0 → gpu1 must be above zero: 0 bytes per second");

  Pair negative;
  negative.builder.AddLink(negative.one, negative.other, {.bandwidth = {-1}});
  EXPECT_THAT(negative.Message(), HasSubstr("gpu0 → gpu1 must be above zero: -1"));
}

TEST(TopologyTest, OtherBadLinksAreRefusedByName) {
  Pair unknown;
  unknown.builder.AddLink(unknown.one, 7, kWire);
  EXPECT_EQ(unknown.Message(), "link 4 connects a node that does not exist: 7");

  Pair twice;
  twice.builder.AddCable(twice.leaf, twice.one, kWire);
  EXPECT_EQ(twice.Message(),
            "link gpu0 → leaf exists twice; write one link with the bandwidth of both");

  Pair loop;
  loop.builder.AddLink(loop.leaf, loop.leaf, kWire);
  EXPECT_EQ(loop.Message(), "link leaf → leaf must connect two different nodes");

  Pair backwards;
  backwards.builder.AddLink(backwards.one, backwards.other, {.bandwidth = {1}, .latency_ps = -5});
  EXPECT_EQ(backwards.Message(), "latency of link gpu0 → gpu1 must not be negative: -5 ps");
}

TEST(TopologyTest, GpusThatNoLinksJoinAreRefused) {
  Pair pair;
  pair.builder.AddGpu("lonely");
  EXPECT_EQ(pair.Message(), "no links lead from gpu0 to lonely; connect them or leave one out");

  EXPECT_EQ(TopologyBuilder().Build().error().message(), "a topology needs at least one GPU");
}

}  // namespace
}  // namespace orrery::network
