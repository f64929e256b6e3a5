#include <cstddef>
#include <cstdint>
#include <vector>

#include <benchmark/benchmark.h>

#include "orrery/trace/clock/clock_alignment.h"
#include "orrery/trace/collective/matched_collectives.h"
#include "orrery/trace/runs_test.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::trace {
namespace {

TraceSet MakeWorld(const benchmark::State& state, bool numbered) {
  const auto num_ranks = static_cast<std::size_t>(state.range(0));
  TraceSet set = test_runs::MakeMeetings({.offset_ns = std::vector<std::int64_t>(num_ranks, 0),
                                          .num_records = state.range(1),
                                          .noise_ns = 5'000,
                                          .groups = {{.name = "0", .description = "default_pg"}}});
  for (Trace& trace : set.ranks) {
    for (std::size_t row = 0; numbered && row < trace.collectives.size(); ++row) {
      trace.collectives.sequence[row] = static_cast<std::int64_t>(row);
    }
  }
  return set;
}

void CountCollectives(benchmark::State& state) {
  state.SetItemsProcessed(state.iterations() * state.range(0) * state.range(1));
}

void BM_MatchByNumber(benchmark::State& state) {
  const TraceSet set = MakeWorld(state, true);
  for (auto _ : state) {
    benchmark::DoNotOptimize(MatchCollectives(set));
  }
  CountCollectives(state);
}

// All collectives look alike, so every near shift agrees and must be evaluated by time.
void BM_MatchByPosition(benchmark::State& state) {
  const TraceSet set = MakeWorld(state, false);
  for (auto _ : state) {
    benchmark::DoNotOptimize(MatchCollectives(set));
  }
  CountCollectives(state);
}

void BM_EstimateClocks(benchmark::State& state) {
  const TraceSet set = MakeWorld(state, true);
  const MatchedCollectives matched = MatchCollectives(set);
  for (auto _ : state) {
    benchmark::DoNotOptimize(EstimateClocks(set, matched));
  }
  CountCollectives(state);
}

BENCHMARK(BM_MatchByNumber)->Args({8, 10'000})->Args({64, 100'000})->Unit(benchmark::kMillisecond);
BENCHMARK(BM_MatchByPosition)
    ->Args({8, 10'000})
    ->Args({64, 100'000})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_EstimateClocks)->Args({8, 10'000})->Args({64, 100'000})->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace orrery::trace
