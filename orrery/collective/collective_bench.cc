#include <cstdint>

#include <benchmark/benchmark.h>

#include "orrery/base/collective_kind.h"
#include "orrery/collective/algorithm.h"
#include "orrery/collective/closed_form.h"
#include "orrery/collective/cost_model.h"
#include "orrery/collective/fabric.h"
#include "orrery/collective/flow/flow_plan.h"
#include "orrery/collective/monotone_times.h"
#include "orrery/collective/nccl/tuner_tables.h"
#include "orrery/collective/request.h"
#include "orrery/hardware/cluster.h"
#include "orrery/network/presets.h"
#include "orrery/network/routing.h"
#include "orrery/network/topology.h"

namespace orrery::collective {
namespace {

constexpr network::Wire kWire{.bandwidth = {50e9}, .latency_ps = 500'000};

// 1,024 GPUs, 128 servers of eight, under three tiers of switches with 16 ports.
const network::Topology& ClosOf1024() {
  static const network::Topology topology =
      network::MakeClos(
          {.tiers = 3,
           .radix = 16,
           .server = {.nvlink = {.bandwidth = {450e9}, .kind = network::LinkKind::kNvlink},
                      .pcie = {.bandwidth = {64e9}, .kind = network::LinkKind::kPcie},
                      .port = kWire},
           .fabric = kWire})
          .value();
  return topology;
}

network::Placement AllGpus() {
  return network::Placement::Strided(ClosOf1024(), 0, ClosOf1024().num_gpus()).value();
}

Fabric FabricOf128() {
  return FabricOf(*hardware::FindCluster("DGX H100"), {.gpus = 128}).value();
}

// Sizes differ between calls, so that caches do not help.
Request RequestOf(std::int64_t call) {
  return {.size = {1024 + call % 1000 * 1'000'003}};
}

void BM_ClosedFormChoosing(benchmark::State& state) {
  const Fabric fabric = FabricOf128();
  MonotoneTimes times({FormRules{}, FormRules{}});
  std::int64_t call = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(times.Seconds(fabric, RequestOf(++call)));
  }
}

void BM_ClosedForm(benchmark::State& state) {
  const Fabric fabric = FabricOf128();
  std::int64_t call = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(ClosedFormSeconds(fabric, RequestOf(++call),
                                               {Algorithm::kRing, Protocol::kSimple},
                                               NewestTunerTables(), DefaultConstants()));
  }
}

void RunFlowLevel(benchmark::State& state, const Request& request, Algorithm algorithm,
                  const FlowNetworkOptions& routing, const FlowLevelOptions& options) {
  for (auto _ : state) {
    FlowNetwork network(ClosOf1024(), routing);
    const Result<FlowLevelTime> time =
        FlowLevelTimeOf(request, algorithm, AllGpus(), network, options);
    if (!time) {
      state.SkipWithError(time.error().message().c_str());
      return;
    }
    state.counters["simulated_us"] = time->seconds * 1e6;
  }
}

constexpr Request kAllToAll{.kind = CollectiveKind::kAllToAll, .size = {64 << 20}};

// Including routing; without other traffic no simulation runs.
void BM_AllToAllAlone(benchmark::State& state) {
  RunFlowLevel(state, kAllToAll, Algorithm::kDirect, {}, {});
}

// Another job sends too, so that rates are shared again whenever flows end.
void BM_AllToAllAmongOthers(benchmark::State& state) {
  const OtherFlow other{.from = 0, .to = 512, .bytes = 1e9};
  RunFlowLevel(state, kAllToAll, Algorithm::kDirect,
               {.routing = {.choice = network::PathChoice::kByTarget}},
               {.other_traffic = {&other, 1}});
}

void BM_AllToAllAmongOthersInRounds(benchmark::State& state) {
  const OtherFlow other{.from = 0, .to = 512, .bytes = 1e9};
  RunFlowLevel(state, kAllToAll, Algorithm::kDirect, {},
               {.plan = {.all_to_all = AllToAllOrder::kInRounds}, .other_traffic = {&other, 1}});
}

void BM_RingsAlone(benchmark::State& state) {
  RunFlowLevel(state, {.size = {1 << 30}}, Algorithm::kRing, {}, {});
}

void BM_RingsSprayed(benchmark::State& state) {
  RunFlowLevel(state, {.size = {1 << 30}}, Algorithm::kRing, {.sprays = true}, {});
}

BENCHMARK(BM_ClosedFormChoosing);
BENCHMARK(BM_ClosedForm);
BENCHMARK(BM_AllToAllAlone)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_AllToAllAmongOthers)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_AllToAllAmongOthersInRounds)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_RingsAlone)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_RingsSprayed)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace orrery::collective
