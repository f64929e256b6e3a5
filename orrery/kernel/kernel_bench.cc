#include <cstddef>
#include <vector>

#include <benchmark/benchmark.h>

#include "orrery/hardware/gpu.h"
#include "orrery/kernel/estimate.h"
#include "orrery/kernel/features.h"
#include "orrery/kernel/measured/measurement.h"
#include "orrery/kernel/model_set.h"
#include "orrery/kernel/operator.h"
#include "orrery/kernel/operators_test.h"
#include "orrery/learn/data_set.h"

namespace orrery::kernel {
namespace {

const hardware::Gpu& H200() {
  static const hardware::Gpu& gpu = *hardware::FindGpu("H200");
  return gpu;
}

const ModelSet& Models() {
  static const ModelSet models = ShippedModels().value();
  return models;
}

// Operators with the frequencies of a training step; sizes are random, so that nearly all differ.
std::vector<Operator> TrainingOperators(std::size_t count) {
  learn::Random random(1);
  std::vector<Operator> operators;
  operators.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    operators.push_back(
        test_operators::RandomOperator(random, test_operators::RandomKindOfTraining(random)));
  }
  return operators;
}

void BM_Features(benchmark::State& state) {
  const std::vector<Operator> operators = TrainingOperators(1'000);
  for (auto _ : state) {
    for (const Operator& op : operators) {
      benchmark::DoNotOptimize(FeaturesOf(op, H200()));
    }
  }
  state.SetItemsProcessed(state.iterations() * 1'000);
}

// One batch of distinct operators, without cache.
void BM_PredictDistinct(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  const std::vector<Operator> operators = TrainingOperators(count);
  std::vector<Estimate> estimates(count);
  Models();
  for (auto _ : state) {
    Models().PredictAs(Timing::kKernels, operators, H200(), estimates,
                       static_cast<int>(state.range(1)));
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void BM_PredictOne(benchmark::State& state) {
  const std::vector<Operator> operators = TrainingOperators(1'000);
  std::size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(Models().Predict(operators[next], H200()));
    next = (next + 1) % operators.size();
  }
  state.SetItemsProcessed(state.iterations());
}

// The operators of a large step, each requested many times.
void BM_PredictRepeated(benchmark::State& state) {
  const std::vector<Operator> operators = TrainingOperators(1'000);
  const MemoizedCostModel memo(Models(), H200());
  std::vector<Estimate> estimates(operators.size());
  memo.Predict(operators, H200(), estimates);
  std::size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(memo.Predict(operators[next], H200()));
    next = (next + 1) % operators.size();
  }
  state.SetItemsProcessed(state.iterations());
}

BENCHMARK(BM_Features);
BENCHMARK(BM_PredictDistinct)
    ->ArgNames({"operators", "threads"})
    ->Args({1'000, 1})
    ->Args({1'000'000, 2})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK(BM_PredictOne);
BENCHMARK(BM_PredictRepeated);

}  // namespace
}  // namespace orrery::kernel
