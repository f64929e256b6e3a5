#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <benchmark/benchmark.h>

#include "orrery/base/check.h"
#include "orrery/base/error.h"
#include "orrery/hardware/gpu.h"
#include "orrery/overlap/analytic_model.h"
#include "orrery/overlap/concurrent_kernels.h"
#include "orrery/overlap/learned_model.h"

namespace orrery::overlap {
namespace {

constexpr std::size_t kPairs = 1024;

// Pairs as a plan knows them, all different.
std::vector<Pair> PlannedPairs() {
  std::vector<Pair> pairs(kPairs);
  for (std::size_t i = 0; i < kPairs; ++i) {
    const auto number = static_cast<double>(i + 1);
    pairs[i].compute = {.kind = i % 3 == 0 ? "elementwise" : "gemm",
                        .alone_us = 3 * number,
                        .flops = 1e9 * number,
                        .bytes = 1e6 * number,
                        .flops_peak = 9.9e14};
    pairs[i].communication.shape = {.blocks = static_cast<std::int64_t>(1 + i % 32),
                                    .threads = 544,
                                    .registers = 96,
                                    .shared_bytes = 82'240};
    pairs[i].communication.payload_gbps = 10 + number / 4;
  }
  return pairs;
}

// The same with launches, as recordings have them.
std::vector<Pair> RecordedPairs() {
  std::vector<Pair> pairs = PlannedPairs();
  for (std::size_t i = 0; i < kPairs; ++i) {
    pairs[i].compute.shape = {.blocks = static_cast<std::int64_t>(1 + 7 * i),
                              .threads = 256,
                              .registers = 64,
                              .shared_bytes = 16'384};
  }
  return pairs;
}

void Ask(benchmark::State& state, const Model& model, const std::vector<Pair>& pairs) {
  const Machine machine = MachineOf(*hardware::FindGpu("H200"));
  std::vector<Slowdown> slowdowns(pairs.size());
  for ([[maybe_unused]] const auto& round : state) {
    model.Slowdowns(machine, pairs, slowdowns);
    benchmark::DoNotOptimize(slowdowns.data());
  }
  state.counters["us_a_pair"] = benchmark::Counter(
      1e-6 * static_cast<double>(state.iterations()) * static_cast<double>(kPairs),
      benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void BM_Arithmetic(benchmark::State& state) {
  Ask(state, AnalyticModel(), PlannedPairs());
}

void BM_Learned(benchmark::State& state) {
  const Result<std::shared_ptr<const LearnedModel>> model = ShippedModel();
  ORRERY_CHECK(model.has_value(), "the shipped model can be read");
  Ask(state, **model, PlannedPairs());
}

void BM_LearnedOfRecorded(benchmark::State& state) {
  const Result<std::shared_ptr<const LearnedModel>> model = ShippedModel();
  ORRERY_CHECK(model.has_value(), "the shipped model can be read");
  Ask(state, **model, RecordedPairs());
}

BENCHMARK(BM_Arithmetic);
BENCHMARK(BM_Learned);
BENCHMARK(BM_LearnedOfRecorded);

}  // namespace
}  // namespace orrery::overlap
