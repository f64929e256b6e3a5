#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include <benchmark/benchmark.h>

#include "orrery/base/math/mix_bits.h"
#include "orrery/network/flow_simulation.h"
#include "orrery/network/presets.h"
#include "orrery/network/routing.h"
#include "orrery/network/simgrid/simgrid_test.h"
#include "orrery/network/topology.h"

namespace orrery::network {
namespace {

constexpr Wire kWire{.bandwidth = {50e9}, .latency_ps = 500'000};

// 16³ hosts under three tiers of switches with 32 ports.
const Topology& FatTreeOf4096() {
  static const Topology topology = MakeFatTree({.host = kWire, .fabric = kWire}).value();
  return topology;
}

// 1,024 GPUs, 128 servers of eight, under three tiers of switches with 16 ports.
const Topology& ClosOf1024() {
  static const Topology topology =
      MakeClos({.tiers = 3,
                .radix = 16,
                .server = {.nvlink = {.bandwidth = {450e9}, .kind = LinkKind::kNvlink},
                           .pcie = {.bandwidth = {64e9}, .kind = LinkKind::kPcie},
                           .port = kWire},
                .fabric = kWire})
          .value();
  return topology;
}

void FindPath(Router& router, GpuId from, GpuId to, std::vector<LinkId>& path) {
  if (!router.AppendPath(from, to, 0, path)) {
    path.clear();
  }
}

simgrid::Flow FlowOf(Router& router, GpuId from, GpuId to, std::uint64_t bytes) {
  simgrid::Flow flow{.from_host = from, .to_host = to, .bytes = bytes};
  FindPath(router, from, to, flow.path);
  return flow;
}

// Every host sends as much to the one 1,365 further on.
std::vector<simgrid::Flow> Shift() {
  Router router(FatTreeOf4096(), {.choice = PathChoice::kByTarget});
  std::vector<simgrid::Flow> flows;
  for (GpuId host = 0; host < 4096; ++host) {
    flows.push_back(FlowOf(router, host, (host + 1365) % 4096, 1'000'000));
  }
  return flows;
}

// Every host sends to a random one, by hashed paths; all sizes are different.
std::vector<simgrid::Flow> RandomSizes() {
  Router router(FatTreeOf4096());
  std::vector<simgrid::Flow> flows;
  for (GpuId host = 0; host < 4096; ++host) {
    const auto step = static_cast<GpuId>(1 + MixBits(host + 1) % 4095);
    flows.push_back(FlowOf(router, host, (host + step) % 4096,
                           1'000'000 + 4096 * (MixBits(host + 10'000) % 24'000) + host));
  }
  return flows;
}

// As SimGrid's platform, the links are there before the clock runs.
void RunOurs(benchmark::State& state, const std::vector<simgrid::Flow>& flows) {
  FlowSimulation simulation(FatTreeOf4096());
  for (auto _ : state) {
    for (const simgrid::Flow& flow : flows) {
      simulation.Add(flow.path,
                     {.bytes = static_cast<double>(flow.bytes), .start_ps = simulation.now_ps()});
    }
    while (!simulation.Advance().empty()) {
    }
  }
  state.counters["filled"] = benchmark::Counter(static_cast<double>(simulation.work().filled_flows),
                                                benchmark::Counter::kAvgIterations);
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(flows.size()));
}

void RunSimgrid(benchmark::State& state, const std::vector<simgrid::Flow>& flows, int rounds) {
  const std::vector<double> capacities = FatTreeOf4096().Capacities();
  for (auto _ : state) {
    const Result<simgrid::Run> run =
        simgrid::Simulate(capacities, flows, FatTreeOf4096().num_gpus(), rounds);
    if (!run) {
      state.SkipWithError(run.error().message().c_str());
      return;
    }
    state.SetIterationTime(run->cpu_seconds);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(flows.size()));
}

void BM_Shift(benchmark::State& state) {
  RunOurs(state, Shift());
}

void BM_ShiftSimgrid(benchmark::State& state) {
  RunSimgrid(state, Shift(), 8);
}

void BM_RandomSizes(benchmark::State& state) {
  RunOurs(state, RandomSizes());
}

void BM_RandomSizesSimgrid(benchmark::State& state) {
  RunSimgrid(state, RandomSizes(), 1);
}

// Adds what every GPU sends to the one `shift` further on.
void AddStep(FlowSimulation& simulation, Router& router, GpuId shift) {
  const GpuId num_gpus = router.topology().num_gpus();
  std::vector<LinkId> path;
  for (GpuId gpu = 0; gpu < num_gpus; ++gpu) {
    path.clear();
    FindPath(router, gpu, (gpu + shift) % num_gpus, path);
    simulation.Add(path, {.bytes = 65'536, .start_ps = simulation.now_ps()});
  }
}

// 1,023 steps, one after the other, over hashed paths; routing and all.
void BM_AllToAllInSteps(benchmark::State& state) {
  for (auto _ : state) {
    Router router(ClosOf1024());
    FlowSimulation simulation(ClosOf1024());
    for (GpuId shift = 1; shift < 1024; ++shift) {
      AddStep(simulation, router, shift);
      while (!simulation.Advance().empty()) {
      }
    }
    benchmark::DoNotOptimize(simulation.now_ps());
  }
  state.SetItemsProcessed(state.iterations() * 1023 * 1024);
}

void RunAllToAllAtOnce(benchmark::State& state, PathChoice choice, double merge_ends_within) {
  for (auto _ : state) {
    Router router(ClosOf1024(), {.choice = choice});
    FlowSimulation simulation(ClosOf1024(), {.merge_ends_within = merge_ends_within});
    for (GpuId shift = 1; shift < 1024; ++shift) {
      AddStep(simulation, router, shift);
    }
    benchmark::DoNotOptimize(simulation.Run());
    state.counters["updates"] = static_cast<double>(simulation.work().updates);
  }
  state.SetItemsProcessed(state.iterations() * 1023 * 1024);
}

void BM_AllToAllAtOnce(benchmark::State& state) {
  RunAllToAllAtOnce(state, PathChoice::kByTarget, 0);
}

void BM_AllToAllAtOnceHashed(benchmark::State& state) {
  RunAllToAllAtOnce(state, PathChoice::kHashed, 0.05);
}

// Flows of different sizes on eight links each that no other uses.
void BM_Disjoint(benchmark::State& state) {
  const auto num_flows = static_cast<std::uint32_t>(state.range(0));
  const std::vector<double> capacities(std::size_t{num_flows} * 8, 50e9);
  FlowSimulation simulation(capacities);
  for (auto _ : state) {
    std::vector<LinkId> path(8);
    for (std::uint32_t flow = 0; flow < num_flows; ++flow) {
      std::iota(path.begin(), path.end(), flow * 8);
      simulation.Add(path, {.bytes = 1e6 + flow, .start_ps = simulation.now_ps()});
    }
    while (!simulation.Advance().empty()) {
    }
  }
  state.SetItemsProcessed(state.iterations() * num_flows * 8);
}

void BM_BuildFatTree(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(MakeFatTree({.host = kWire, .fabric = kWire}));
  }
}

// Repeats all searches, then finds a path from every host.
void BM_Route(benchmark::State& state) {
  for (auto _ : state) {
    Router router(FatTreeOf4096());
    std::vector<LinkId> path;
    for (GpuId host = 0; host < 4096; ++host) {
      path.clear();
      FindPath(router, host, (host + 1365) % 4096, path);
    }
    benchmark::DoNotOptimize(path);
  }
  state.SetItemsProcessed(state.iterations() * 4096);
}

BENCHMARK(BM_Shift)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_ShiftSimgrid)->Unit(benchmark::kMillisecond)->UseManualTime()->Iterations(1);
BENCHMARK(BM_RandomSizes)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_RandomSizesSimgrid)->Unit(benchmark::kMillisecond)->UseManualTime()->Iterations(1);
BENCHMARK(BM_AllToAllInSteps)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_AllToAllAtOnce)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_AllToAllAtOnceHashed)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Disjoint)->Arg(1'000)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_BuildFatTree)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Route)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace orrery::network
