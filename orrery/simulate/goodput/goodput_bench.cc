#include <cstdint>

#include <benchmark/benchmark.h>

#include "orrery/simulate/goodput/failure_rates.h"
#include "orrery/simulate/goodput/goodput.h"

namespace orrery::simulate {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000'000;

// A month of a job of so many GPUs with the default rates: steps of 6 s, checkpoints every ten
// minutes, enough spares.
void BM_Month(benchmark::State& state) {
  const std::int64_t gpus = state.range(0);
  const GoodputJob job{.step_ps = 6 * kSecond,
                       .nodes = gpus / 8,
                       .gpus = gpus,
                       .gpus_per_node = 8,
                       .replicas = gpus / 128};
  const JobFailures failures =
      FailuresOf(ShippedFailureRates().front(), {.gpus = gpus, .nics = gpus, .nodes = gpus / 8});
  const GoodputOptions options{
      .window_ps = 30 * 86'400 * kSecond,
      .interval_steps = 100,
      .checkpoint = {.stall_ps = 25 * kSecond, .load_ps = 25 * kSecond},
      .detect_ps = 120 * kSecond,
      .restart_ps = 480 * kSecond,
      .repair_ps = 86'400 * kSecond,
      .spares = 16,
      .slow = {.per_s = 1e-6, .factor = 1.2, .found_after_ps = 3'600 * kSecond}};
  std::uint64_t month = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(SimulateMonth(job, failures, options, month++));
  }
  state.SetItemsProcessed(state.iterations());
}

BENCHMARK(BM_Month)->Arg(1'024)->Arg(16'384)->Arg(131'072);

}  // namespace
}  // namespace orrery::simulate
