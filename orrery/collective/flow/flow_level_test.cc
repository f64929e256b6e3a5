#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/units.h"
#include "orrery/collective/algorithm.h"
#include "orrery/collective/clusters_test.h"
#include "orrery/collective/cost_model.h"
#include "orrery/collective/flow/flow_plan.h"
#include "orrery/collective/request.h"
#include "orrery/network/congestion.h"
#include "orrery/network/presets.h"
#include "orrery/network/routing.h"
#include "orrery/network/topology.h"

namespace orrery::collective {
namespace {

using network::Placement;
using network::Topology;

constexpr HopLatencies kNoLatency{};

double Microseconds(const Request& request, Algorithm algorithm, const Topology& topology,
                    const FlowLevelOptions& options = {.latencies = kNoLatency}) {
  FlowNetwork network(topology);
  return FlowLevelTimeOf(request, algorithm, AllGpus(topology), network, options)->seconds * 1e6;
}

// TV7: inside twice 7/8 · 256 MiB / 360 GB/s = 652.45 µs, along a rail 2 · 7/8 · 32 MiB / 48.5 GB/s
// = 1,210.73 µs.
TEST(FlowLevelTest, HierarchicalAllReduceOfTheReference) {
  const double microseconds =
      Microseconds({.size = {256 << 20}}, Algorithm::kHierarchical, Rails(8));
  EXPECT_NEAR(microseconds, 2515.62, 0.005);
  EXPECT_NEAR(2.0 * 63 / 64 * (256 << 20) / microseconds / 1e3, 210.08, 0.005);
}

// TV8: 56/64 · 64 MiB over a NIC of 48.5 GB/s; NVLink has long done its part.
TEST(FlowLevelTest, AllToAllOfTheReference) {
  const Topology topology = Servers(8);
  FlowNetwork network(topology);
  const FlowLevelTime time =
      FlowLevelTimeOf({.kind = CollectiveKind::kAllToAll, .size = {64 << 20}}, Algorithm::kDirect,
                      AllGpus(topology), network, {.latencies = kNoLatency})
          .value();
  EXPECT_NEAR(time.seconds * 1e6, 1210.73, 0.005);
  EXPECT_EQ(time.bottleneck, "nic0.0 → leaf0");
  EXPECT_NEAR(time.bottleneck_share, 1, 1e-9);
}

// In rounds, 63 times 1 MiB over a NIC: some rank always leaves its server.
TEST(FlowLevelTest, AllToAllInRoundsWaitsForTheSlowestOfARound) {
  const Request request{.kind = CollectiveKind::kAllToAll, .size = {64 << 20}};
  EXPECT_NEAR(
      Microseconds(request, Algorithm::kDirect, Servers(8),
                   {.plan = {.all_to_all = AllToAllOrder::kInRounds}, .latencies = kNoLatency}),
      63 * 1048576 / 48.5e3, 0.001);
}

// The ring bound min(360, 8 · 48.5): 2 · 63/64 · 256 MiB / 360 GB/s. With four NICs for eight GPUs
// it is 4 · 48.5.
TEST(FlowLevelTest, RingsUseAllNicsOfAServer) {
  const double traffic = 2.0 * 63 / 64 * (256 << 20);
  const Request request{.size = {256 << 20}};
  EXPECT_NEAR(Microseconds(request, Algorithm::kRing, Rails(8)), traffic / 360e3, 0.001);
  EXPECT_NEAR(Microseconds(request, Algorithm::kRing, Servers(8, 4)), traffic / (4 * 48.5e3),
              0.001);
}

// All-gather and reduce-scatter move half as much; broadcast and reduce the buffer once.
TEST(FlowLevelTest, OtherCollectivesOnRings) {
  const Topology topology = Rails(8);
  const Bytes size{256 << 20};
  for (const CollectiveKind kind : {CollectiveKind::kAllGather, CollectiveKind::kReduceScatter}) {
    EXPECT_NEAR(Microseconds({kind, size}, Algorithm::kRing, topology),
                63.0 / 64 * (256 << 20) / 360e3, 0.001);
  }
  for (const CollectiveKind kind : {CollectiveKind::kBroadcast, CollectiveKind::kReduce}) {
    EXPECT_NEAR(Microseconds({kind, size}, Algorithm::kRing, topology), (256 << 20) / 360e3, 0.001);
  }
  EXPECT_NEAR(Microseconds({CollectiveKind::kSendRecv, size}, Algorithm::kDirect, topology),
              (256 << 20) / 48.5e3, 0.001);
}

// TV9: n = 8, S · 9/8 over 360 GB/s. With two servers the trees of eight rails have a NIC each:
// S/8 over 48.5 GB/s takes 692 µs, less than the 839 µs of NVLink.
TEST(FlowLevelTest, ReductionInTheSwitch) {
  const Request request{.size = {256 << 20}};
  const double inside = 9.0 / 8 * (256 << 20) / 360e3;
  EXPECT_NEAR(Microseconds(request, Algorithm::kNvls, Servers(1)), inside, 0.001);
  EXPECT_NEAR(Microseconds(request, Algorithm::kNvlsTree, Rails(2)), inside, 0.001);
}

// Four servers of one GPU: each node sends S/2 to three others in one tree and to one in the other
// (a root to one child only): 2 S at most.
TEST(FlowLevelTest, TreesShareTheWork) {
  const Topology topology = Servers(4, 1, 1);
  EXPECT_NEAR(Microseconds({.size = {1 << 20}}, Algorithm::kTree, topology),
              2.0 * (1 << 20) / 48.5e3, 0.001);
}

// 14 steps in a ring of eight: twice (8 - 1), of which twice (2 - 1) between servers. Links have 50
// ns inside and 1 µs between servers.
TEST(FlowLevelTest, LatenciesAreToldOrThoseOfLinks) {
  const Topology topology = Servers(2, 4, 4);
  const Request barrier{.kind = CollectiveKind::kBarrier};
  const double transfer = 2.0 * 7 / 8 * 8 / (4 * 48.5e3);
  EXPECT_NEAR(Microseconds(barrier, Algorithm::kRing, topology,
                           {.latencies = HopLatencies{.start_ps = 3'000'000,
                                                      .intra_ps = 2'000'000,
                                                      .inter_ps = 5'000'000}}),
              3 + 12 * 2 + 2 * 5 + transfer, 1e-6);
  EXPECT_NEAR(Microseconds(barrier, Algorithm::kRing, topology, {}), 12 * 0.05 + 2 * 1 + transfer,
              1e-6);
}

// Half of NVLink and a quarter of the NICs.
TEST(FlowLevelTest, SharesOfWiresSlowDown) {
  const Request request{.size = {256 << 20}};
  const FlowLevelOptions options{.shares = {.link = 0.5, .network = 0.25}, .latencies = kNoLatency};
  EXPECT_NEAR(Microseconds(request, Algorithm::kHierarchical, Rails(8), options),
              2 * 2 * 652.4473 + 4 * 1210.7272, 0.01);
}

// Eight rings of all GPUs would need 360 GB/s of NVLink; the NIC of server 3 is at a tenth: its
// ring has an eighth of 2 · 63/64 · 256 MiB to move at 4.85 GB/s.
TEST(FlowLevelTest, ASlowNicIsNamed) {
  const Topology whole = Rails(8);
  const std::vector<network::LinkId> slow{whole.FindLink("nic3.2", "leaf2").value()};
  const Topology topology = whole.WithScaledLinks(slow, 0.1).value();
  FlowNetwork network(topology);
  const FlowLevelTime time = FlowLevelTimeOf({.size = {256 << 20}}, Algorithm::kRing,
                                             AllGpus(topology), network, {.latencies = kNoLatency})
                                 .value();
  EXPECT_NEAR(time.seconds, 2.0 * 63 / 64 * (32 << 20) / 4.85e9, 1e-9);
  EXPECT_EQ(time.bottleneck, "nic3.2 → leaf2");
}

// Both hosts of leaf 0 send to leaf 1 over two spines; one of the cables up is lost.
TEST(FlowLevelTest, AFailedLinkIsGoneRound) {
  const Topology topology = network::MakeClos({.tiers = 2,
                                               .radix = 4,
                                               .server = network::BareHost({.bandwidth = {10e9}}),
                                               .fabric = {.bandwidth = {10e9}}})
                                .value();
  const auto placement = Placement::Create(topology, {0, 2, 1, 3}).value();
  const Request request{.kind = CollectiveKind::kSendRecv, .size = {10'000'000}};
  const FlowLevelOptions options{.latencies = kNoLatency};
  FlowNetwork whole(topology, {.sprays = true});
  EXPECT_NEAR(FlowLevelTimeOf(request, Algorithm::kDirect, placement, whole, options)->seconds,
              1e-3, 1e-9);
  const network::LinkId up = topology.FindLink("leaf0", "spine0").value();
  FlowNetwork broken(topology, {.routing = {.failed_links = {up}}, .sprays = true});
  const auto time = FlowLevelTimeOf(request, Algorithm::kDirect, placement, broken, options);
  EXPECT_NEAR(time->seconds, 2e-3, 1e-9);
  EXPECT_EQ(time->bottleneck, "leaf0 → spine1");
}

// A shift by half of the hosts never blocks when sprayed; hashed paths collide somewhere.
TEST(FlowLevelTest, SprayingBeatsHashing) {
  const Topology topology = network::MakeClos({.tiers = 2,
                                               .radix = 16,
                                               .server = network::BareHost({.bandwidth = {10e9}}),
                                               .fabric = {.bandwidth = {10e9}}})
                                .value();
  std::vector<network::GpuId> order;
  for (network::GpuId gpu = 0; gpu < 64; ++gpu) {
    order.insert(order.end(), {gpu, gpu + 64});
  }
  const auto placement = Placement::Create(topology, order).value();
  const Request request{.kind = CollectiveKind::kSendRecv, .size = {10'000'000}};
  FlowNetwork spraying(topology, {.sprays = true});
  FlowNetwork hashing(topology);
  const FlowLevelOptions options{.latencies = kNoLatency};
  EXPECT_NEAR(FlowLevelTimeOf(request, Algorithm::kDirect, placement, spraying, options)->seconds,
              1e-3, 1e-9);
  EXPECT_GE(FlowLevelTimeOf(request, Algorithm::kDirect, placement, hashing, options)->seconds,
            2e-3 - 1e-9);
}

// Three flows leave and reach every NIC: they share what the model leaves of it.
TEST(FlowLevelTest, CongestionCostsGoodput) {
  const Topology topology = Servers(4, 1, 1);
  const auto ecn = network::FindCongestionModel("ecn").value();
  const Request request{.kind = CollectiveKind::kAllToAll, .size = {4 << 20}};
  const double alone = 3.0 * (1 << 20) / 48.5e3;
  EXPECT_NEAR(Microseconds(request, Algorithm::kDirect, topology), alone, 0.001);
  EXPECT_NEAR(Microseconds(request, Algorithm::kDirect, topology,
                           {.latencies = kNoLatency, .congestion = &ecn}),
              alone / ecn.Goodput(3), 0.001);
}

// Another job sends as much over the port of GPU 0: it takes half until both are done.
TEST(FlowLevelTest, OtherTrafficTakesItsShare) {
  const Topology topology = Servers(4, 1, 1);
  const auto placement = Placement::Create(topology, {0, 1}).value();
  FlowNetwork network(topology);
  const std::vector<OtherFlow> others{{.from = 0, .to = 2, .bytes = 48.5e6}};
  const auto time =
      FlowLevelTimeOf({.kind = CollectiveKind::kSendRecv, .size = {48'500'000}}, Algorithm::kDirect,
                      placement, network, {.latencies = kNoLatency, .other_traffic = others});
  EXPECT_NEAR(time->seconds, 2e-3, 1e-9);
  EXPECT_EQ(time->bottleneck, "nic0.0 → leaf0");
  EXPECT_NEAR(time->bottleneck_share, 0.5, 1e-9);
}

TEST(FlowLevelTest, RanksThatCannotReachEachOtherAreNamed) {
  const Topology topology = Servers(2, 1, 1);
  const network::LinkId port = topology.FindLink("nic0.0", "leaf0").value();
  FlowNetwork network(topology, {.routing = {.failed_links = {port}}});
  EXPECT_EQ(FlowLevelTimeOf({.size = {8}}, Algorithm::kRing, AllGpus(topology), network)
                .error()
                .message(),
            "no path from gpu0 to gpu1 without the failed links");
}

}  // namespace
}  // namespace orrery::collective
