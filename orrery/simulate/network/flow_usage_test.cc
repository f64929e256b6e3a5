#include "orrery/simulate/network/flow_usage.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/error.h"
#include "orrery/base/units.h"
#include "orrery/collective/algorithm.h"
#include "orrery/collective/cost_model.h"
#include "orrery/network/dice_test.h"
#include "orrery/network/pause.h"
#include "orrery/network/presets.h"
#include "orrery/network/simgrid/simgrid_test.h"
#include "orrery/network/topology.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/ensembles_test.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/simulate/network/link_sharing.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {
namespace {

using network::Dice;
using network::GpuId;
using network::LinkId;
using network::Topology;

constexpr Bandwidth kWire{10e9};

/// Hosts with one port on a two-tier Clos.
Topology HostsOnClos(std::uint32_t radix, double oversubscription = 1) {
  return network::MakeClos({.tiers = 2,
                            .radix = radix,
                            .oversubscription = oversubscription,
                            .server = network::BareHost({.bandwidth = kWire}),
                            .fabric = {.bandwidth = kWire}})
      .value();
}

/// All of a port for as long as the bytes take: 100 ps a byte.
class WireTimes : public CommunicationTimes {
 public:
  [[nodiscard]] Result<std::int64_t> DurationPs(const workload::Communications::Row& communication,
                                                std::span<const GpuId> /*gpus*/) override {
    return 100 * communication.bytes;
  }

  [[nodiscard]] Result<collective::LinkDemand> DemandOf(
      const workload::Communications::Row& communication,
      std::span<const GpuId> /*gpus*/) override {
    return collective::LinkDemand{.algorithm = communication.kind == CollectiveKind::kSendRecv
                                                   ? collective::Algorithm::kDirect
                                                   : collective::Algorithm::kRing,
                                  .nic_share = 1,
                                  .link = kWire,
                                  .nic = kWire};
  }
};

/// Groups that each begin one transfer after some work.
struct OneTransfer {
  std::vector<workload::Rank> ranks;
  std::int64_t begin_ps = 0;
  std::int64_t bytes = 0;
};

workload::Ensemble EnsembleOf(std::uint32_t num_ranks, std::span<const OneTransfer> transfers) {
  workload::Ensemble ensemble;
  ensemble.num_roles = 1;
  const auto write = [](std::int64_t begin_ps, std::int64_t bytes) {
    RankWriter rank({"dp"});
    const workload::TaskId work = rank.Kernel(begin_ps);
    rank.After(work, rank.Talk(0, bytes, 2, CollectiveKind::kAllGather));
    return std::move(rank.program);
  };
  for (const OneTransfer& transfer : transfers) {
    ensemble.programs.push_back(write(transfer.begin_ps, transfer.bytes));
  }
  RankWriter idle({"dp"});
  idle.Kernel(1);
  ensemble.programs.push_back(std::move(idle.program));
  const auto no_program = static_cast<workload::ProgramId>(transfers.size());
  for (workload::Rank rank = 0; rank < num_ranks; ++rank) {
    AddRank(ensemble, no_program);
  }
  for (std::uint32_t i = 0; i < transfers.size(); ++i) {
    Join(ensemble, 0, transfers[i].ranks);
    for (const workload::Rank rank : transfers[i].ranks) {
      ensemble.program_of_rank[rank] = i;
    }
  }
  return ensemble;
}

Timeline SimulateFlows(const workload::Ensemble& ensemble, const Topology& topology,
                       FlowNetworkState state) {
  const RankClasses ranks = Unfolded(ensemble, IslandLinkClass(1));
  WireTimes times;
  Result<FlowUsage> usage = FlowUsage::Create(ranks, times, topology, std::move(state));
  EXPECT_TRUE(usage.has_value());
  Result<Timeline> timeline = Simulate(ranks, times, {.links = &*usage});
  EXPECT_TRUE(timeline.has_value()) << timeline.error().message();
  return timeline ? *std::move(timeline) : Timeline{};
}

// Eight rings of two hosts, each from leaf 0 to leaf 1, over four cables up: sprayed, every cable
// carries two; all run at exactly half speed.
TEST(FlowUsageTest, OversubscribedSwitchesSlowAllThatCrossThem) {
  const Topology topology = HostsOnClos(12, 2);  // 8 hosts and 4 cables on a leaf
  std::vector<OneTransfer> transfers;
  for (workload::Rank rank = 0; rank < 8; ++rank) {
    transfers.push_back({.ranks = {rank, rank + 8}, .bytes = 1'000'000});
  }
  const workload::Ensemble ensemble = EnsembleOf(topology.num_gpus(), transfers);
  for (const Routing routing : {Routing::kSpray, Routing::kAdaptive}) {
    const Timeline timeline = SimulateFlows(ensemble, topology, {.routing = routing});
    EXPECT_NEAR(static_cast<double>(timeline.EndPs()), 2e8, 10);
  }
  // By hash some cable has more than two: none has less than half for it.
  EXPECT_GT(SimulateFlows(ensemble, topology, {.routing = Routing::kHash}).EndPs(), 2'900'000'00);
}

// One pair over four cables, one of them at a quarter of its bandwidth: spraying sends a quarter of
// its packets over it and waits (4/4 → 1), with all of the others idle; with three pairs a
// quarter of each crosses it: 3/4 of a port over 1/4. Adaptive routing sends only as much over it
// as it carries: 3 ports over 3.25.
TEST(FlowUsageTest, AdaptiveRoutingAvoidsASlowLinkAndSprayingDoesNot) {
  const Topology whole = HostsOnClos(8);
  std::vector<OneTransfer> transfers;
  for (workload::Rank rank = 0; rank < 3; ++rank) {
    transfers.push_back({.ranks = {rank, rank + 4}, .bytes = 1'000'000});
  }
  const workload::Ensemble ensemble = EnsembleOf(whole.num_gpus(), transfers);
  std::vector<LinkId> slow{
      whole.FindLink("leaf0", "spine0").value(), whole.FindLink("spine0", "leaf0").value(),
      whole.FindLink("leaf1", "spine0").value(), whole.FindLink("spine0", "leaf1").value()};
  const Topology topology = whole.WithScaledLinks(slow, 0.25).value();
  EXPECT_NEAR(
      static_cast<double>(SimulateFlows(ensemble, topology, {.routing = Routing::kSpray}).EndPs()),
      3e8, 10);
  EXPECT_NEAR(static_cast<double>(
                  SimulateFlows(ensemble, topology, {.routing = Routing::kAdaptive}).EndPs()),
              1e8, 10);
}

// Other traffic takes 30 % of all links between islands.
TEST(FlowUsageTest, BackgroundTrafficTakesItsShare) {
  const Topology topology = HostsOnClos(8);
  const std::vector<OneTransfer> transfers{{.ranks = {0, 4}, .bytes = 7'000'000}};
  const workload::Ensemble ensemble = EnsembleOf(topology.num_gpus(), transfers);
  EXPECT_NEAR(static_cast<double>(SimulateFlows(ensemble, topology, {.free_share = 0.7}).EndPs()),
              1e9, 10);
  const FlowNetworkState state{
      .background = {{.from = 0, .to = 5, .bytes_per_second = 0.5 * kWire.bytes_per_second}}};
  EXPECT_NEAR(static_cast<double>(SimulateFlows(ensemble, topology, state).EndPs()), 1.4e9, 10);
}

// A ring of hosts 0 and 1 under one switch, then of host 0 and one under another switch, whose
// packets take one of four spines each way. What arrives at a switch from one host does not leave
// to the same.
TEST(FlowUsageTest, PausesFollowPathsLinkByLink) {
  const Topology topology = HostsOnClos(8);
  for (const auto& [routing, other, num_pairs] :
       {std::tuple(Routing::kHash, 1U, 2U), std::tuple(Routing::kHash, 4U, 6U),
        std::tuple(Routing::kAdaptive, 4U, 24U)}) {
    const std::vector<OneTransfer> transfers{{.ranks = {0, other}, .bytes = 1'000'000}};
    const workload::Ensemble ensemble = EnsembleOf(topology.num_gpus(), transfers);
    const RankClasses ranks = Unfolded(ensemble, IslandLinkClass(1));
    WireTimes times;
    Result<FlowUsage> usage =
        FlowUsage::Create(ranks, times, topology, {.routing = routing, .pauses = true});
    const TransferUses uses =
        usage->UsesOf(ranks.GroupOf(0, 0), {.kind = CollectiveKind::kAllGather, .bytes = 1'000'000})
            .value();
    EXPECT_EQ(uses.pairs.size(), num_pairs);
    for (const network::LinkPair& pair : uses.pairs) {
      EXPECT_EQ(topology.link(pair.before).to, topology.link(pair.after).from);
      EXPECT_NE(topology.link(pair.before).from, topology.link(pair.after).to);
    }
  }
}

// All of a port of 10 GB/s, and a quarter of each of the four cables to spines, behind which the
// storage is.
TEST(FlowUsageTest, StorageIsBehindTheLastSwitches) {
  const Topology topology = HostsOnClos(8);
  const workload::Ensemble ensemble =
      EnsembleOf(topology.num_gpus(), std::vector<OneTransfer>{{.ranks = {0, 4}, .bytes = 1}});
  const RankClasses ranks = Unfolded(ensemble, IslandLinkClass(1));
  WireTimes times;
  Result<FlowUsage> usage = FlowUsage::Create(ranks, times, topology, {});
  const TransferUses uses = usage->UsesToStorage(1, kWire).value();
  EXPECT_EQ(uses.bytes_per_second, kWire.bytes_per_second);
  ASSERT_EQ(uses.links.size(), 5U);
  for (const network::LinkUse& use : uses.links) {
    const bool is_port = topology.link(use.link).from == topology.gpu_node(1);
    EXPECT_DOUBLE_EQ(use.share, is_port ? 1 : 0.25) << topology.LinkName(use.link);
  }
}

/// Rings of distinct hosts that begin at different times, and none of which crosses a link twice.
std::vector<OneTransfer> RandomRings(Dice& dice, std::uint32_t num_hosts) {
  std::vector<workload::Rank> order(num_hosts);
  for (std::uint32_t host = 0; host < num_hosts; ++host) {
    order[host] = host;
  }
  for (std::uint32_t host = num_hosts; host > 1; --host) {
    std::swap(order[host - 1], order[dice.Below(host)]);
  }
  std::vector<OneTransfer> transfers;
  for (std::size_t first = 0; first + 5 < order.size();) {
    const std::size_t size = 2 + dice.Below(4);
    transfers.push_back({.ranks = {order.begin() + static_cast<std::ptrdiff_t>(first),
                                   order.begin() + static_cast<std::ptrdiff_t>(first + size)},
                         .begin_ps = static_cast<std::int64_t>(dice.Below(4)) * 50'000'000,
                         .bytes = static_cast<std::int64_t>(1'000'000 + dice.Below(9'000'000))});
    first += size;
  }
  return transfers;
}

// Several groups at once, each a ring of hosts whose links advance together: to SimGrid one flow
// over all links of the ring.
TEST(FlowUsageTest, SeveralGroupsEndAsInSimgrid) {
  if (!network::simgrid::IsInstalled()) {
    GTEST_SKIP() << "skipped: SimGrid is not installed";
  }
  int num_compared = 0;
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    Dice dice(seed);
    const Topology topology = HostsOnClos(12, 1 + static_cast<double>(seed % 3));
    const std::vector<OneTransfer> transfers = RandomRings(dice, topology.num_gpus());
    const workload::Ensemble ensemble = EnsembleOf(topology.num_gpus(), transfers);
    const RankClasses ranks = Unfolded(ensemble, IslandLinkClass(1));
    WireTimes times;
    Result<FlowUsage> usage =
        FlowUsage::Create(ranks, times, topology, {.routing = Routing::kHash, .seed = seed});
    ASSERT_TRUE(usage.has_value());
    std::vector<network::simgrid::Flow> flows;
    bool crosses_twice = false;
    for (std::uint32_t i = 0; i < transfers.size(); ++i) {
      const GroupClassId group = ranks.GroupOf(transfers[i].ranks.front(), 0);
      const Result<TransferUses> uses =
          usage->UsesOf(group, {.kind = CollectiveKind::kAllGather, .bytes = transfers[i].bytes});
      ASSERT_TRUE(uses.has_value());
      network::simgrid::Flow flow{
          .from_host = 2 * i,
          .to_host = 2 * i + 1,
          .bytes = static_cast<std::uint64_t>(transfers[i].bytes),
          .start_seconds = static_cast<double>(transfers[i].begin_ps) * 1e-12};
      for (const network::LinkUse& use : uses->links) {
        crosses_twice = crosses_twice || std::abs(use.share - 1) > 1e-9;
        flow.path.push_back(use.link);
      }
      flows.push_back(flow);
    }
    if (crosses_twice) {
      continue;  // a route of SimGrid has each link once
    }
    const Result<network::simgrid::Run> theirs = network::simgrid::Simulate(
        topology.Capacities(), flows, static_cast<std::uint32_t>(2 * flows.size()));
    ASSERT_TRUE(theirs) << theirs.error().message();
    const Result<Timeline> ours = Simulate(ranks, times, {.links = &*usage});
    ASSERT_TRUE(ours.has_value());
    for (std::uint32_t i = 0; i < transfers.size(); ++i) {
      EXPECT_NEAR(static_cast<double>(ours->EndOf(transfers[i].ranks.front())) * 1e-12,
                  theirs->end_seconds[i], 1e-3 * theirs->end_seconds[i]);
      ++num_compared;
    }
  }
  EXPECT_GT(num_compared, 50);
}

}  // namespace
}  // namespace orrery::simulate
