#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/base/collective_kind.h"
#include "orrery/collective/algorithm.h"
#include "orrery/collective/closed_form.h"
#include "orrery/collective/cost_model.h"
#include "orrery/collective/fabric.h"
#include "orrery/collective/flow/flow_plan.h"
#include "orrery/collective/nccl/tuner_tables.h"
#include "orrery/collective/request.h"
#include "orrery/network/flow_simulation.h"
#include "orrery/network/presets.h"
#include "orrery/network/routing.h"
#include "orrery/network/topology.h"

/// Properties of any collective on any machine, whatever its constants.
namespace orrery::collective {
namespace {

using network::GpuId;
using network::Placement;
using network::Topology;

constexpr double kNoise = 1 + 1e-9;

struct Task {
  Request request{};
  Algorithm algorithm = Algorithm::kRing;
};

/// Pairs that flows can do on islands of as many ranks.
Task AnyTask(bool is_one_island) {
  using enum CollectiveKind;
  using enum Algorithm;
  std::vector<std::pair<CollectiveKind, Algorithm>> pairs{{kAllReduce, kRing},
                                                          {kAllReduce, kTree},
                                                          {kAllReduce, kHierarchical},
                                                          {kAllGather, kRing},
                                                          {kAllGather, kPat},
                                                          {kAllGather, kHierarchical},
                                                          {kReduceScatter, kRing},
                                                          {kBroadcast, kRing},
                                                          {kReduce, kRing},
                                                          {kAllToAll, kDirect},
                                                          {kSendRecv, kDirect},
                                                          {kReduceScatter, kPat},
                                                          {kReduceScatter, kHierarchical}};
  pairs.emplace_back(kAllReduce, is_one_island ? kNvls : kNvlsTree);
  const auto [kind, algorithm] = *rc::gen::elementOf(pairs);
  const auto size = *rc::gen::inRange<std::int64_t>(1, std::int64_t{1} << 30);
  return {.request = {.kind = kind, .size = {size}}, .algorithm = algorithm};
}

struct Machine {
  std::uint32_t servers = 2;
  std::uint32_t gpus = 4;
  std::uint32_t nics = 4;
  double nvlink = 0;
  double nic = 0;

  [[nodiscard]] network::Server server() const {
    return {
        .num_gpus = gpus,
        .num_nics = nics,
        .nvlink = {.bandwidth = {nvlink}, .latency_ps = 25'000, .kind = network::LinkKind::kNvlink},
        .pcie = {.bandwidth = {10 * nic}, .kind = network::LinkKind::kPcie},
        .port = {.bandwidth = {nic}, .latency_ps = 500'000}};
  }

  /// One switch joins the servers.
  [[nodiscard]] Topology Build() const {
    if (servers == 1) {
      return network::MakeNvswitchIsland({.num_gpus = gpus, .nvlink = server().nvlink}).value();
    }
    return network::MakeSingleSwitch({.num_servers = servers, .server = server()}).value();
  }
};

Machine AnyMachine() {
  Machine machine;
  machine.servers = *rc::gen::inRange<std::uint32_t>(1, 6);
  machine.nics = *rc::gen::element<std::uint32_t>(1, 2, 4);
  machine.gpus = machine.nics * *rc::gen::inRange<std::uint32_t>(1, 3);
  machine.gpus += machine.servers == 1 && machine.gpus == 1 ? 1 : 0;
  machine.nics = machine.gpus % machine.nics == 0 ? machine.nics : 1;
  machine.nvlink = 1e9 * *rc::gen::inRange(10, 900);
  machine.nic = 1e9 * *rc::gen::inRange(5, 100);
  return machine;
}

Placement AllOf(const Topology& topology) {
  return Placement::Strided(topology, 0, topology.num_gpus()).value();
}

double SecondsOf(const Task& task, const Topology& topology, const FlowLevelOptions& options = {}) {
  FlowNetwork network(topology);
  return FlowLevelTimeOf(task.request, task.algorithm, AllOf(topology), network, options)
      .value()
      .seconds;
}

double BusBandwidth(const Task& task, int ranks, double seconds) {
  return static_cast<double>(task.request.size.count) / seconds *
         BusFactor(task.request.kind, ranks);
}

// Ring: what the narrowest of NVLink and the NICs of a server carries. Reduction in the switch:
// 2 (n - 1) / (n + 1) times NVLink.
RC_GTEST_PROP(PhysicsTest, FlowsStayBelowTheBoundOfTheirAlgorithm, ()) {
  const Machine machine = *rc::gen::exec(AnyMachine);
  const Topology topology = machine.Build();
  const auto ranks = static_cast<int>(topology.num_gpus());
  const Request request{.size = {*rc::gen::inRange<std::int64_t>(1, 1 << 30)}};
  const Task ring{request, Algorithm::kRing};
  const double inside = machine.gpus > 1 ? machine.nvlink : 1e18;
  const double bound = machine.servers > 1 ? std::min(inside, machine.nics * machine.nic) : inside;
  RC_ASSERT(BusBandwidth(ring, ranks, SecondsOf(ring, topology)) <= bound * kNoise);
  if (machine.servers == 1) {
    const Task nvls{request, Algorithm::kNvls};
    const double most = machine.nvlink * 2 * (ranks - 1) / (ranks + 1);
    RC_ASSERT(BusBandwidth(nvls, ranks, SecondsOf(nvls, topology)) <= most * kNoise);
    // Without latency the bound is reached.
    const double best = SecondsOf(nvls, topology, {.latencies = HopLatencies{}});
    RC_ASSERT(BusBandwidth(nvls, ranks, best) * kNoise >= most);
  }
}

struct FormCase {
  Fabric fabric{};
  AlgorithmAndProtocol candidate{};
  Request request{};
  MachineConstants constants{};

  [[nodiscard]] double Seconds() const {
    return ClosedFormSeconds(fabric, request, candidate, NewestTunerTables(), constants);
  }
};

MachineConstants AnyConstants() {
  MachineConstants constants;
  for (std::size_t i = 0; i < kNumConstants; ++i) {
    const auto constant = static_cast<Constant>(i);
    const ConstantInfo& info = InfoOf(constant);
    const double part = *rc::gen::inRange(0, 1001) / 1000.0;
    constants.Set(constant, info.least + (info.most - info.least) * part);
  }
  return constants;
}

FormCase AnyFormCase() {
  FormCase form;
  form.fabric.nodes = *rc::gen::inRange(1, 20);
  form.fabric.ranks_per_node = *rc::gen::inRange(form.fabric.nodes == 1 ? 2 : 1, 9);
  form.fabric.ranks = form.fabric.nodes * form.fabric.ranks_per_node;
  form.fabric.physical_link = {1e9 * *rc::gen::inRange(10, 900)};
  form.fabric.gpu_link = {form.fabric.physical_link.bytes_per_second * 0.8};
  form.fabric.nic = {1e9 * *rc::gen::inRange(5, 100)};
  form.fabric.nics = *rc::gen::inRange(1, form.fabric.ranks_per_node + 1);
  form.candidate = {*rc::gen::element(Algorithm::kRing, Algorithm::kTree, Algorithm::kNvls,
                                      Algorithm::kNvlsTree, Algorithm::kHierarchical),
                    *rc::gen::elementOf(kProtocols)};
  form.request.size = {*rc::gen::inRange<std::int64_t>(1, std::int64_t{1} << 34)};
  if (*rc::gen::inRange(0, 4) == 0) {
    form.request.kind = CollectiveKind::kAllToAll;
    form.candidate = {Algorithm::kDirect, Protocol::kSimple};
  }
  form.constants = AnyConstants();
  return form;
}

RC_GTEST_PROP(PhysicsTest, TheClosedFormStaysBelowTheBoundOfItsAlgorithm, ()) {
  FormCase form = *rc::gen::exec(AnyFormCase);
  form.request.kind = CollectiveKind::kAllReduce;
  form.candidate.algorithm = *rc::gen::element(Algorithm::kRing, Algorithm::kNvls);
  const int n = form.fabric.ranks_per_node;
  RC_PRE(n > 1);
  const double link = form.fabric.physical_link.bytes_per_second;
  const double bus = static_cast<double>(form.request.size.count) / form.Seconds() *
                     BusFactor(form.request.kind, form.fabric.ranks);
  if (form.candidate.algorithm == Algorithm::kRing) {
    const double network = form.fabric.node_network().bytes_per_second;
    RC_ASSERT(bus <= (form.fabric.nodes > 1 ? std::min(link, network) : link) * kNoise);
  } else if (form.fabric.nodes == 1) {
    RC_ASSERT(bus <= link * 2 * (n - 1) / (n + 1) * kNoise);
  }
}

RC_GTEST_PROP(PhysicsTest, BetterHardwareNeverSlowsTheClosedForm, ()) {
  const FormCase form = *rc::gen::exec(AnyFormCase);
  const double factor = *rc::gen::inRange(100, 400) / 100.0;
  FormCase link = form;
  link.fabric.gpu_link.bytes_per_second *= factor;
  link.fabric.physical_link.bytes_per_second *= factor;
  RC_ASSERT(link.Seconds() <= form.Seconds() * kNoise);
  FormCase nic = form;
  nic.fabric.nic.bytes_per_second *= factor;
  RC_ASSERT(nic.Seconds() <= form.Seconds() * kNoise);
  using enum Constant;
  for (const Constant latency :
       {kStart, kSimpleStart, kLlHop, kSimpleHop, kLlNetworkHop, kSimpleNetworkHop}) {
    FormCase faster = form;
    faster.constants.Set(latency, form.constants[latency] / factor);
    RC_ASSERT(faster.Seconds() <= form.Seconds() * kNoise);
  }
  for (const Constant share : {kLinkShare, kLlLinkShare, kNetworkShare, kNvlsShare, kDirectShare}) {
    FormCase wider = form;
    wider.constants.Set(share, form.constants[share] * factor);
    RC_ASSERT(wider.Seconds() <= form.Seconds() * kNoise);
  }
}

// Also when one link alone gets wider: no flow of a stage is larger than another, so none can gain
// at the cost of the last.
RC_GTEST_PROP(PhysicsTest, BetterHardwareNeverSlowsFlows, ()) {
  const Machine machine = *rc::gen::exec(AnyMachine);
  const Task task = AnyTask(machine.servers == 1);
  const Topology topology = machine.Build();
  const double before = SecondsOf(task, topology);
  const std::vector<network::LinkId> link{
      *rc::gen::inRange<network::LinkId>(0, topology.num_links())};
  const double factor = *rc::gen::inRange(100, 400) / 100.0;
  RC_ASSERT(SecondsOf(task, topology.WithScaledLinks(link, factor).value()) <= before * kNoise);
  const HopLatencies slow{.start_ps = 5'000'000, .intra_ps = 2'000'000, .inter_ps = 9'000'000};
  const auto lower = *rc::gen::inRange<std::int64_t>(0, 1'000'000);
  const HopLatencies fast{.start_ps = slow.start_ps - lower,
                          .intra_ps = slow.intra_ps - lower,
                          .inter_ps = slow.inter_ps - lower};
  RC_ASSERT(SecondsOf(task, topology, {.latencies = fast}) <=
            SecondsOf(task, topology, {.latencies = slow}) * kNoise);
}

/// A numbering of `count` things in another order.
std::vector<std::uint32_t> AnyOrder(std::uint32_t count) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  for (std::uint32_t i = count; i > 1; --i) {
    std::swap(order[i - 1], order[*rc::gen::inRange<std::uint32_t>(0, i)]);
  }
  return order;
}

// Three servers of four a leaf, four leaves, four spines.
Topology BlockingClos() {
  const Machine machine{.nvlink = 300e9, .nic = 25e9};
  return network::MakeClos({.tiers = 2,
                            .radix = 16,
                            .oversubscription = 3,
                            .num_servers = 12,
                            .server = machine.server(),
                            .fabric = {.bandwidth = {25e9}}})
      .value();
}

// Leaves change places, and servers under all leaves alike.
RC_GTEST_PROP(PhysicsTest, IsomorphicPlacementsCostTheSame, ()) {
  const Topology topology = BlockingClos();
  constexpr std::uint32_t kServersOfLeaf = 3;
  const std::vector<std::uint32_t> leaves = AnyOrder(4);
  const std::vector<std::uint32_t> inside = AnyOrder(kServersOfLeaf);
  std::vector<GpuId> here;
  std::vector<GpuId> there;
  const auto count = *rc::gen::inRange<std::uint32_t>(2, 12);
  for (const std::uint32_t server : AnyOrder(count)) {
    const std::uint32_t moved =
        leaves[server / kServersOfLeaf] * kServersOfLeaf + inside[server % kServersOfLeaf];
    for (std::uint32_t gpu = 0; gpu < 4; ++gpu) {
      here.push_back(server * 4 + gpu);
      there.push_back(moved * 4 + gpu);
    }
  }
  const Task task = AnyTask(false);
  FlowNetwork network(topology, {.sprays = true});
  const auto seconds = [&](const std::vector<GpuId>& gpus) {
    return FlowLevelTimeOf(task.request, task.algorithm, Placement::Create(topology, gpus).value(),
                           network)
        ->seconds;
  };
  const double expected = seconds(here);
  RC_ASSERT(std::abs(seconds(there) - expected) <= expected * 1e-9);
}

/// Runs collectives together from 0 and returns their ends in seconds.
std::vector<double> RunTogether(const std::vector<std::pair<Task, Placement>>& jobs,
                                FlowNetwork& network, const HopLatencies& latencies) {
  network::FlowSimulation simulation(network.topology());
  std::vector<FlowPlan> plans;
  for (const auto& [task, placement] : jobs) {
    plans.push_back(PlanFlows(task.request, task.algorithm, placement).value());
  }
  std::vector<CollectiveRun> runs;
  for (const FlowPlan& plan : plans) {
    runs.emplace_back(plan, latencies, WireShares{}, network, simulation);
  }
  for (CollectiveRun& run : runs) {
    RC_ASSERT(run.Start(0).has_value());
  }
  for (auto ended = simulation.Advance(); !ended.empty(); ended = simulation.Advance()) {
    for (CollectiveRun& run : runs) {
      RC_ASSERT(run.Take(ended).has_value());
    }
  }
  std::vector<double> seconds;
  for (const CollectiveRun& run : runs) {
    seconds.push_back(static_cast<double>(run.end_ps().value()) * 1e-12);
  }
  return seconds;
}

constexpr HopLatencies kLatencies{
    .start_ps = 3'000'000, .intra_ps = 1'000'000, .inter_ps = 7'000'000};

// A picosecond of rounding for each stage.
bool AreSame(double one, double other) {
  return std::abs(one - other) <= one * 1e-9 + 1e-10;
}

RC_GTEST_PROP(PhysicsTest, AStageAloneTakesWhatItsFullestLinkTakes, ()) {
  const Machine machine = *rc::gen::exec(AnyMachine);
  const Task task = AnyTask(machine.servers == 1);
  const Topology topology = machine.Build();
  FlowNetwork network(topology);
  const double simulated = RunTogether({{task, AllOf(topology)}}, network, kLatencies)[0];
  RC_ASSERT(AreSame(SecondsOf(task, topology, {.latencies = kLatencies}), simulated));
}

RC_GTEST_PROP(PhysicsTest, AStageAloneTakesWhatItsFullestLinkTakesWherePathsCollide, ()) {
  const Task task = AnyTask(false);
  const Topology topology = BlockingClos();
  const Placement placement =
      Placement::Strided(topology, 0, 4 * *rc::gen::inRange<std::uint32_t>(2, 13)).value();
  FlowNetwork network(topology, {.routing = {.seed = *rc::gen::arbitrary<std::uint64_t>()}});
  const double simulated = RunTogether({{task, placement}}, network, kLatencies)[0];
  const double alone =
      FlowLevelTimeOf(task.request, task.algorithm, placement, network, {.latencies = kLatencies})
          ->seconds;
  RC_ASSERT(AreSame(alone, simulated));
}

RC_GTEST_PROP(PhysicsTest, JobsOnOtherServersDoNotMeet, ()) {
  Machine machine = *rc::gen::exec(AnyMachine);
  machine.servers = 4;
  const Topology topology = machine.Build();
  FlowNetwork network(topology);
  const std::uint32_t half = 2 * machine.gpus;
  const std::pair first{AnyTask(false), Placement::Strided(topology, 0, half).value()};
  const std::pair second{AnyTask(false), Placement::Strided(topology, half, half).value()};
  const std::vector<double> together = RunTogether({first, second}, network, kLatencies);
  RC_ASSERT(AreSame(together[0], RunTogether({first}, network, kLatencies)[0]));
  RC_ASSERT(AreSame(together[1], RunTogether({second}, network, kLatencies)[0]));
}

RC_GTEST_PROP(PhysicsTest, EqualJobsOnTheSameLinksTakeTwiceAsLong, ()) {
  const Machine machine = *rc::gen::exec(AnyMachine);
  const Task task = AnyTask(machine.servers == 1);
  const Topology topology = machine.Build();
  FlowNetwork network(topology);
  const std::pair job{task, AllOf(topology)};
  const double alone = RunTogether({job}, network, {})[0];
  for (const double seconds : RunTogether({job, job}, network, {})) {
    RC_ASSERT(AreSame(seconds, 2 * alone));
  }
}

}  // namespace
}  // namespace orrery::collective
