#include "orrery/simulate/network/port_usage.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/error.h"
#include "orrery/hardware/cluster.h"
#include "orrery/network/presets.h"
#include "orrery/network/topology.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/ensembles_test.h"
#include "orrery/simulate/engine/random_ensembles_test.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/simulate/network/flow_usage.h"
#include "orrery/simulate/network/link_sharing.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {
namespace {

using network::LinkUse;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Field;
using workload::Ensemble;

auto Uses(network::LinkId link, double share) {
  return ::testing::AllOf(Field(&LinkUse::link, link),
                          Field(&LinkUse::share, DoubleNear(share, 1e-12)));
}

/// Islands of four GPUs with two NICs.
PortMap SmallIslands() {
  return {.gpus_per_island = 4, .gpus_per_node = 4, .nics_per_node = 2};
}

std::vector<LinkUse> LinksOf(PortUsage& usage, GroupClassId group, CollectiveKind kind) {
  const Result<TransferUses> uses = usage.UsesOf(group, {.kind = kind, .bytes = 100});
  EXPECT_TRUE(uses.has_value());
  return uses ? uses->links : std::vector<LinkUse>();
}

Ensemble OneProgram(std::uint32_t ranks, RankWriter writer) {
  Ensemble ensemble;
  ensemble.num_roles = static_cast<std::uint32_t>(writer.program.roles.size());
  ensemble.programs.push_back(std::move(writer.program));
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    AddRank(ensemble, 0);
  }
  return ensemble;
}

void JoinAll(Ensemble& ensemble) {
  std::vector<workload::Rank> all(ensemble.num_ranks());
  std::iota(all.begin(), all.end(), 0);
  Join(ensemble, 0, all);
}

/// Four islands of four GPUs with a NIC each, two on each first switch, whose cables up carry one
/// NIC.
PortMap TwoLeaves() {
  PortMap ports = SmallIslands();
  ports.nics_per_node = 4;
  for (std::uint32_t gpu = 0; gpu < 16; ++gpu) {
    ports.leaf_of_gpu.push_back(gpu / 8);
  }
  ports.nics_of_uplinks = {1, 1};
  return ports;
}

// 64 GPUs of a rack, or 8 of a node, are one NVLink island; 16 GPUs of two nodes are joined by one
// switch. Nothing is above it, so that no cables up can be too few.
TEST(PortMapTest, WithoutSwitchesAboveTheFirstNothingIsOversubscribed) {
  for (const char* const name : {"GB200 NVL72", "OCI BM.GPU.GB300"}) {
    hardware::Cluster rack = *hardware::FindCluster(name);
    rack.fabric.oversubscription = 2;
    const Result<PortMap> ports = PortMapOf(rack, 64 / rack.gpus_per_node, 1);
    ASSERT_TRUE(ports.has_value()) << ports.error().message();
    EXPECT_TRUE(ports->leaf_of_gpu.empty());
    EXPECT_FALSE(HasUplinks(rack, 64, 2));
    EXPECT_TRUE(HasUplinks(rack, 144, 2));
  }
  hardware::Cluster cluster = *hardware::FindCluster("DGX H100");
  EXPECT_FALSE(HasUplinks(cluster, 8, 2));
  EXPECT_TRUE(HasUplinks(cluster, 16, 2));
  cluster.fabric.preset = hardware::FabricPreset::kSingleSwitch;
  EXPECT_FALSE(HasUplinks(cluster, 16, 2));
}

// Rank r has links 4r (out) and 4r + 1 (in) inside its island, its NIC 4r + 2 and 4r + 3. Ranks 0
// and 1 talk inside: all of both directions of both.
TEST(PortUsageTest, GroupsInsideAnIslandUseTheLinksOfTheirGpus) {
  RankWriter writer({"tp"});
  writer.Talk(0, 100);
  Ensemble ensemble = OneProgram(2, std::move(writer));
  Join(ensemble, 0, {0, 1});
  const RankClasses ranks = Unfolded(ensemble, IslandLinkClass(4));
  LinkTimes times(4);
  const PortMap ports = SmallIslands();
  PortUsage usage(ranks, times, ports);
  EXPECT_THAT(LinksOf(usage, 0, CollectiveKind::kAllGather),
              ElementsAre(Uses(0, 1), Uses(1, 1), Uses(4, 1), Uses(5, 1)));
}

// Ranks 0 and 4 talk between islands: half of the NICs of both. Rank 1 is on the same NIC as rank 0
// and has it as 6 and 7, rank 5 that of rank 4 as 22 and 23.
TEST(PortUsageTest, GroupsBetweenIslandsUseTheNicsOfTheirGpus) {
  RankWriter writer({"dp"});
  writer.Talk(0, 100);
  Ensemble ensemble = OneProgram(8, std::move(writer));
  Join(ensemble, 0, {0, 4});
  Join(ensemble, 0, {1, 5});
  const RankClasses ranks = Unfolded(ensemble, IslandLinkClass(4));
  LinkTimes times(4);
  const PortMap ports = SmallIslands();
  PortUsage usage(ranks, times, ports);
  EXPECT_THAT(LinksOf(usage, 0, CollectiveKind::kAllReduce),
              ElementsAre(Uses(2, 0.5), Uses(3, 0.5), Uses(6, 0.5), Uses(7, 0.5), Uses(18, 0.5),
                          Uses(19, 0.5), Uses(22, 0.5), Uses(23, 0.5)));
}

// The one who sends uses its NIC outwards, the other one inwards.
TEST(PortUsageTest, MessagesUseOneDirection) {
  RankWriter writer({});
  writer.program.AddRole("pp out", "pp", workload::Direction::kSends);
  writer.program.AddRole("pp in", "pp", workload::Direction::kReceives);
  writer.Message(0, 100);
  writer.Message(1, 100);
  Ensemble ensemble = OneProgram(8, std::move(writer));
  const workload::GroupId pair = ensemble.AddGroup(std::vector<workload::Rank>{0, 4});
  ensemble.SetGroup(0, 0, pair);
  ensemble.SetGroup(4, 1, pair);
  const RankClasses ranks = Unfolded(ensemble, IslandLinkClass(4));
  LinkTimes times(4);
  PortMap ports = SmallIslands();
  ports.nics_per_node = 4;
  PortUsage usage(ranks, times, ports);
  EXPECT_THAT(LinksOf(usage, 0, CollectiveKind::kSendRecv),
              ElementsAre(Uses(2, 0.5), Uses(19, 0.5)));
}

// A ring of all GPUs takes half of a NIC for each of the four GPUs of an island; from each switch
// the second island goes on to the other switch: 4 · 0.5 of a NIC, twice what its cables carry.
TEST(PortUsageTest, RingsLoadFirstSwitchesWhereTheyCrossThem) {
  RankWriter writer({"dp"});
  writer.Talk(0, 100);
  Ensemble ensemble = OneProgram(16, std::move(writer));
  JoinAll(ensemble);
  const PortMap ports = TwoLeaves();
  const IslandLinkClass placed(4);
  const RankClasses ranks =
      Fold(ensemble, LeafLinkClass(placed, ports), SharedPlaces(ports, ensemble));
  ASSERT_EQ(ranks.classes.size(), 1U);
  LinkTimes times(4);
  PortUsage usage(ranks, times, ports);
  EXPECT_THAT(LinksOf(usage, 0, CollectiveKind::kAllReduce),
              ElementsAre(Uses(2, 0.5), Uses(3, 0.5), Uses(4, 2), Uses(5, 2)));
}

// A quarter of a NIC for each of the eight GPUs under a switch: two NICs over cables that carry
// one. With two GPUs on a NIC, both take a quarter of it.
TEST(PortUsageTest, StorageIsAboveTheFirstSwitches) {
  RankWriter writer({"dp"});
  writer.Talk(0, 100);
  Ensemble ensemble = OneProgram(16, std::move(writer));
  JoinAll(ensemble);
  PortMap ports = TwoLeaves();
  ports.nic = {4e9};
  const IslandLinkClass placed(4);
  const RankClasses ranks =
      Fold(ensemble, LeafLinkClass(placed, ports), SharedPlaces(ports, ensemble));
  LinkTimes times(4);
  PortUsage usage(ranks, times, ports);
  EXPECT_THAT(usage.UsesToStorage(0, {1e9}).value().links, ElementsAre(Uses(2, 0.25), Uses(4, 2)));
  PortMap shared = SmallIslands();
  shared.nic = {4e9};
  const RankClasses folded = Fold(ensemble, placed, SharedPlaces(shared, ensemble));
  ASSERT_EQ(folded.classes.size(), 1U);
  PortUsage of_shared(folded, times, shared);
  EXPECT_THAT(of_shared.UsesToStorage(0, {1e9}).value().links, ElementsAre(Uses(2, 0.5)));
}

// As above; of what a rank sends to the twelve GPUs of other islands, two thirds go to the other
// switch: 8 ranks · 0.5 · 8/12.
TEST(PortUsageTest, AllToAllLoadsFirstSwitchesWithWhatLeavesThem) {
  RankWriter writer({"ep"});
  writer.Talk(0, 100, 2, CollectiveKind::kAllToAll);
  Ensemble ensemble = OneProgram(16, std::move(writer));
  JoinAll(ensemble);
  const PortMap ports = TwoLeaves();
  const RankClasses ranks = Unfolded(ensemble, IslandLinkClass(4));
  LinkTimes times(4);
  PortUsage usage(ranks, times, ports);
  const std::vector<LinkUse> links = LinksOf(usage, 0, CollectiveKind::kAllToAll);
  ASSERT_EQ(links.size(), 2U * 16 + 4);
  for (std::size_t i = 2 * 16; i < links.size(); ++i) {
    EXPECT_NEAR(links[i].share, 8 * 0.5 * 8 / 12, 1e-12);
  }
}

Result<Timeline> SimulateShared(const RankClasses& ranks, const PortMap& ports) {
  LinkTimes times(4);
  PortUsage usage(ranks, times, ports);
  return Simulate(ranks, times, {.links = &usage});
}

/// Expects that ranks of a class have the times of each of their ranks.
void ExpectSameTimes(const RankClasses& folded, const Timeline& of_folded, const RankClasses& all,
                     const Timeline& of_all) {
  for (workload::Rank rank = 0; rank < all.classes.size(); ++rank) {
    const RankClassId rank_class = folded.class_of_rank[rank];
    const std::size_t size = of_all.offsets[rank + 1] - of_all.offsets[rank];
    for (std::size_t task = 0; task < size; ++task) {
      RC_ASSERT(of_folded.end_ps[of_folded.First(rank_class) + task] ==
                of_all.end_ps[of_all.First(rank) + task]);
    }
  }
}

RC_GTEST_PROP(PortUsageProperty, FoldingChangesNoTime, (const RandomJob& job)) {
  const Ensemble ensemble = job.Write();
  const PortMap ports = SmallIslands();
  const IslandLinkClass placed(4);
  const RankClasses folded = Fold(ensemble, placed, SharedPlaces(ports, ensemble));
  const RankClasses all = Unfolded(ensemble, placed);
  const Result<Timeline> of_folded = SimulateShared(folded, ports);
  const Result<Timeline> of_all = SimulateShared(all, ports);
  RC_PRE(of_all.has_value() && of_folded.has_value());
  ExpectSameTimes(folded, *of_folded, all, *of_all);
}

RC_GTEST_PROP(PortUsageProperty, NoTaskEndsEarlierThanAlone, (const RandomJob& job)) {
  const Ensemble ensemble = job.Write();
  const RankClasses all = Unfolded(ensemble, IslandLinkClass(4));
  LinkTimes times(4);
  const Result<Timeline> alone = Simulate(all, times);
  RC_PRE(alone.has_value());
  const Result<Timeline> shared = SimulateShared(all, SmallIslands());
  RC_ASSERT(shared.has_value());
  for (std::size_t task = 0; task < alone->end_ps.size(); ++task) {
    RC_ASSERT(shared->end_ps[task] >= alone->end_ps[task]);
  }
}

// A switch that never blocks, and groups with as many ranks on every island.
RC_GTEST_PROP(PortUsageProperty, FlowsOverASwitchThatNeverBlocksTakeAsLong, (RandomJob job)) {
  job.tp = 2;
  job.dp = 4;
  const Ensemble ensemble = job.Write();
  const RankClasses all = Unfolded(ensemble, IslandLinkClass(4));
  const Result<Timeline> shared = SimulateShared(all, SmallIslands());
  RC_PRE(shared.has_value());
  const Result<network::Topology> topology = network::MakeSingleSwitch(
      {.num_servers = 2 * job.pp,
       .server = {.num_gpus = 4,
                  .num_nics = 2,
                  .nvlink = {.bandwidth = LinkTimes::kLink, .kind = network::LinkKind::kNvlink},
                  .pcie = {.bandwidth = {1e13}, .kind = network::LinkKind::kPcie},
                  .port = {.bandwidth = LinkTimes::kNic}}});
  RC_ASSERT(topology.has_value());
  LinkTimes times(4);
  Result<FlowUsage> usage = FlowUsage::Create(all, times, *topology, {});
  RC_ASSERT(usage.has_value());
  const Result<Timeline> flows = Simulate(all, times, {.links = &*usage});
  RC_ASSERT(flows.has_value());
  for (std::size_t task = 0; task < flows->end_ps.size(); ++task) {
    // Shares are computed in another order: a picosecond for each transfer before it.
    RC_ASSERT(std::abs(flows->end_ps[task] - shared->end_ps[task]) <=
              static_cast<std::int64_t>(flows->end_ps.size()));
  }
}

}  // namespace
}  // namespace orrery::simulate
