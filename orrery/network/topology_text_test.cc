#include "orrery/network/topology_text.h"

#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/network/routing.h"
#include "orrery/network/topology.h"

namespace orrery::network {
namespace {

constexpr std::string_view kPair = R"yaml(nodes:
  - {name: gpu0, kind: gpu}
  - {name: gpu1, kind: gpu}
  - {name: leaf, kind: switch}
links:
  - {from: gpu0, to: leaf, gbps: 50, latency_ns: 500.5}
  - {from: gpu1, to: leaf, gbps: 25, latency_ns: 500}
  - {from: gpu0, to: gpu1, gbps: 400, kind: nvlink, directed: true}
)yaml";

// Two servers of two GPUs: an NVSwitch each (nodes 4, 5) and a leaf (6).
constexpr std::string_view kSimai = R"text(7 2 2 1 8 H100
4 5 6
0 4 2880Gbps 0.000025ms 0
1 4 2880Gbps 0.000025ms 0
2 5 2880Gbps 0.000025ms 0
3 5 2880Gbps 0.000025ms 0
0 6 400Gbps 0.0005ms 0
1 6 400Gbps 0.0005ms 0
2 6 400Gbps 0.0005ms 0
3 6 400Gbps 0.0005ms 0
)text";

std::string MessageOf(std::string_view text, std::string_view from, std::string_view to) {
  std::string changed(text);
  changed.replace(changed.find(from), from.size(), to);
  return ReadTopologyText(changed, "net").error().message();
}

TEST(TopologyTextTest, OwnYaml) {
  const Topology topology = ReadTopologyText(kPair, "net").value();

  EXPECT_EQ(topology.num_gpus(), 2u);
  EXPECT_EQ(topology.num_links(), 5u);
  EXPECT_EQ(topology.link(0).latency_ps, 500'500);
  EXPECT_EQ(topology.link(2).bandwidth.bytes_per_second, 25e9);
  EXPECT_EQ(topology.link(4).kind, LinkKind::kNvlink);
}

TEST(TopologyTextTest, MistakesInOwnYamlAreNamedWithTheirPlace) {
  EXPECT_EQ(MessageOf(kPair, "to: leaf", "to: loaf"),
            "net: links 1: to must be the name of a node, not 'loaf'");
  EXPECT_EQ(MessageOf(kPair, "gbps: 25", "gbps: 0"),
            "net: links 2: gbps must be a number above 0, not '0'");
  EXPECT_EQ(MessageOf(kPair, "gbps: 25", "speed: 25"), "net: links 2: gbps is missing");
  EXPECT_EQ(MessageOf(kPair, "kind: switch", "kind: bridge"),
            "net: nodes 3: kind must be one of gpu, nic, switch, host, not 'bridge'");
  EXPECT_EQ(MessageOf(kPair, "name: gpu1", "name: gpu0"),
            "net: nodes 2: name must differ from the names of other nodes, not 'gpu0'");
  EXPECT_EQ(
      MessageOf(kPair, "from: gpu1", "from: gpu0"),
      "net: links 2: to must not be linked twice; write one link with the bandwidth of both, not "
      "'leaf'");
  EXPECT_EQ(MessageOf(kPair, "nodes:\n", "nodes: [\n"),
            "net: line 2: not YAML: illegal block entry");
  EXPECT_EQ(MessageOf(kPair, "latency_ns: 500.5", "latency: 500"),
            "net: links 1: latency is not a field that is known here; the nearest is latency_ns");
  EXPECT_EQ(MessageOf(kPair, "directed: true", "directed: perhaps"),
            "net: links 3: directed must be true or false, not 'perhaps'");
  EXPECT_EQ(ReadTopologyText("nodes: []\nlinks: 7", "net").error().message(),
            "net: links must be a list of mappings, not '7'");
  EXPECT_EQ(ReadTopologyText("", "net").error().message(), "net: nodes is missing");
}

// 50 GB/s of ASTRA-sim are 50 · 2^30 bytes per second; a ring of eight has eight cables.
TEST(TopologyTextTest, AstraSimRing) {
  const Topology topology = ReadTopologyText(
                                "topology: [ Ring ]\nnpus_count: [ 8 ]\n"
                                "bandwidth: [ 50.0 ]  # GB/s\nlatency: [ 500.0 ]  # ns\n",
                                "net")
                                .value();
  EXPECT_EQ(topology.num_gpus(), 8u);
  EXPECT_EQ(topology.num_links(), 16u);
  EXPECT_EQ(topology.link(0).bandwidth.bytes_per_second, 50.0 * (1 << 30));
  EXPECT_EQ(topology.link(0).latency_ps, 500'000);
  Router router(topology);
  EXPECT_EQ(router.Distance(1, 4), 3u);
}

// Ring(2) × FullyConnected(8) × Switch(4), 64 NPUs. From 0 to 63 = (1, 7, 3): one cable, one cable,
// and two to and from a switch; 50 + 500 + 2 · 2000 ns.
TEST(TopologyTextTest, AstraSimDimensionsMultiply) {
  const Topology topology = ReadAstraSimYaml(
                                "topology: [Ring, FullyConnected, Switch]\nnpus_count: [2, 8, 4]\n"
                                "bandwidth: [200, 100, 50]\nlatency: [50, 500, 2000]\n",
                                "net")
                                .value();
  EXPECT_EQ(topology.num_gpus(), 64u);
  EXPECT_EQ(topology.num_links(), 2u * (32 + 8 * 28 + 64));
  Router router(topology);
  EXPECT_EQ(router.Find(0, 63)->latency_ps, 4'550'000);
}

TEST(TopologyTextTest, MistakesInAstraSimYamlAreNamedWithTheirField) {
  constexpr std::string_view kRing =
      "topology: [Ring]\nnpus_count: [8]\nbandwidth: [50]\nlatency: [500]\n";
  EXPECT_EQ(MessageOf(kRing, "[Ring]", "[Mesh]"),
            "net: topology must be a list of Ring, Switch and FullyConnected, not 'Mesh'");
  EXPECT_EQ(MessageOf(kRing, "[8]", "[8, 4]"),
            "net: npus_count must have one entry for each of 1 dimensions, not '2 entries'");
  EXPECT_EQ(MessageOf(kRing, "[50]", "[-1]"),
            "net: bandwidth must be a list of numbers of at least 0, not 'a list'");
  EXPECT_EQ(MessageOf(kRing, "[Ring]\nnpus_count: [8]", "[FullyConnected]\nnpus_count: [99999]"),
            "net: npus_count of FullyConnected must be at most 2048 (use a Switch), not '99999'");
}

// 2880 Gb/s are 360 GB/s; 0.0005 ms are 500 ns.
TEST(TopologyTextTest, SimaiText) {
  const Topology topology = ReadTopologyText(kSimai, "net").value();

  EXPECT_EQ(topology.num_gpus(), 4u);
  EXPECT_EQ(topology.num_islands(), 2u);
  EXPECT_EQ(topology.link(0).kind, LinkKind::kNvlink);
  EXPECT_EQ(topology.link(0).bandwidth.bytes_per_second, 360e9);
  EXPECT_EQ(topology.link(0).latency_ps, 25'000);
  EXPECT_EQ(topology.link(8).bandwidth.bytes_per_second, 50e9);
  EXPECT_EQ(topology.link(8).latency_ps, 500'000);
  Router router(topology);
  EXPECT_EQ(router.Find(0, 1)->latency_ps, 50'000);
  EXPECT_EQ(router.Find(0, 3)->latency_ps, 1'000'000);
}

TEST(TopologyTextTest, MistakesInSimaiTextAreNamedWithTheirLine) {
  EXPECT_EQ(MessageOf(kSimai, "7 2 2 1 8 H100", "7 2 two"),
            "net: line 1: the first line must be: nodes gpus_per_server nvswitches switches links "
            "gpu_type");
  EXPECT_EQ(MessageOf(kSimai, "4 5 6", "4 5"),
            "net: line 2: the second line must name 3 switches, not 2");
  EXPECT_EQ(MessageOf(kSimai, "1 4 2880Gbps", "1 4 0Gbps"),
            "net: line 4: bandwidth must be above zero and have a unit such as Gbps: 0Gbps");
  EXPECT_EQ(MessageOf(kSimai, "1 4 2880Gbps 0.000025ms", "1 4 2880Gbps 25"),
            "net: line 4: latency must not be negative and must have a unit such as ns: 25");
  EXPECT_EQ(MessageOf(kSimai, "1 4", "1 9"),
            "net: line 4: a link must connect two different nodes below 7: 1 9");
  EXPECT_EQ(
      MessageOf(kSimai, "1 4", "4 0"),
      "net: line 4: nodes 4 and 0 are linked already; write one link with the bandwidth of both");
  EXPECT_EQ(MessageOf(kSimai, "3 6 400Gbps 0.0005ms 0\n", ""),
            "net: line 9: the file ends after 7 of 8 links");
}

}  // namespace
}  // namespace orrery::network
