#include <cstdint>

#include <benchmark/benchmark.h>

#include "orrery/simulate/engine.h"

namespace orrery::simulate {
namespace {

// What a training step looks like: host work, a launch and a kernel, over and over.
workload::Program Launches(std::int64_t num_launches) {
  workload::Program program;
  program.lanes.Append({.kind = workload::LaneKind::kHostThread});
  program.lanes.Append({.kind = workload::LaneKind::kStream, .gap_ps = 1'500'000});
  for (std::int64_t i = 0; i < num_launches; ++i) {
    program.tasks.Append({.lane = 0, .duration_ps = 8'000'000});
    const workload::TaskId launch = program.tasks.Append(
        {.lane = 0, .kind = workload::TaskKind::kLaunch, .duration_ps = 4'000'000});
    program.tasks.Append({.lane = 1,
                          .kind = workload::TaskKind::kKernel,
                          .duration_ps = 5'000'000 + i % 7 * 3'000'000,
                          .launch = launch});
  }
  return program;
}

void BM_Run(benchmark::State& state) {
  const workload::Program program = Launches(state.range(0));
  for (auto _ : state) {
    benchmark::DoNotOptimize(Run(program, {.repetitions = 4}));
  }
  state.SetItemsProcessed(state.iterations() * 4 * static_cast<std::int64_t>(program.tasks.size()));
}

BENCHMARK(BM_Run)->Arg(1'000)->Arg(100'000);

}  // namespace
}  // namespace orrery::simulate
