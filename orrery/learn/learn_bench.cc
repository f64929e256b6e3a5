#include <cstddef>
#include <cstdint>
#include <vector>

#include <benchmark/benchmark.h>

#include "orrery/learn/boosted_trees.h"
#include "orrery/learn/data_set.h"
#include "orrery/learn/data_test.h"
#include "orrery/learn/forest.h"
#include "orrery/learn/perceptron/perceptron.h"

namespace orrery::learn {
namespace {

constexpr std::size_t kNumFeatures = 16;

// Every split is made: 2^depth leaves.
Tree FullTree(Random& random, std::uint32_t depth) {
  Tree tree(2 * (std::size_t{1} << depth) - 1);
  const std::size_t num_inner = tree.size() / 2;
  for (std::uint32_t node = 0; node < tree.size(); ++node) {
    if (node >= num_inner) {
      tree[node].value = random.Uniform() - 0.5;
      continue;
    }
    tree[node] = {.left = 2 * node + 1,
                  .right = 2 * node + 2,
                  .feature = static_cast<std::uint32_t>(random.Below(kNumFeatures)),
                  .threshold = static_cast<float>(2 * random.Uniform() - 1)};
  }
  return tree;
}

Forest FullForest(std::size_t num_trees, std::uint32_t depth) {
  Random random(1);
  std::vector<Tree> trees(num_trees);
  for (Tree& tree : trees) {
    tree = FullTree(random, depth);
  }
  return *Forest::FromTrees(0, kNumFeatures, trees);
}

// 300 full trees of depth 8, the rows of one call as given.
void BM_ForestRows(benchmark::State& state) {
  const Forest forest = FullForest(300, 8);
  const DataSet data = test_data::MakeCurve(
      {.num_rows = static_cast<std::size_t>(state.range(0)), .num_features = kNumFeatures});
  for (auto _ : state) {
    benchmark::DoNotOptimize(forest.PredictRows(data.features()));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void BM_ForestOneRow(benchmark::State& state) {
  const Forest forest = FullForest(300, 8);
  const DataSet data = test_data::MakeCurve({.num_rows = 1'000, .num_features = kNumFeatures});
  RowIndex row = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(forest.Predict(data.Features(row)));
    row = (row + 1) % 1'000;
  }
  state.SetItemsProcessed(state.iterations());
}

void BM_TrainBoostedTrees(benchmark::State& state) {
  const DataSet data =
      test_data::MakeCurve({.num_rows = 80'000, .num_features = kNumFeatures, .noise = 0.05});
  const std::vector<RowIndex> rows = data.AllRows();
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        TrainBoostedTrees(data, {.train = rows, .validation = {}}, {.max_rounds = 200}));
  }
  state.SetItemsProcessed(state.iterations() * 80'000);
}

// 16-256-256-256-1, the width at which others were measured.
const PerceptronOptions kWideNetwork = {
    .hidden_widths = {256, 256, 256}, .max_epochs = 3, .batch_rows = 512};

void BM_PerceptronRows(benchmark::State& state) {
  const DataSet data = test_data::MakeCurve(
      {.num_rows = static_cast<std::size_t>(state.range(0)), .num_features = kNumFeatures});
  const std::vector<RowIndex> rows = data.AllRows();
  const auto trained = TrainPerceptron(data, {.train = rows, .validation = {}}, kWideNetwork);
  for (auto _ : state) {
    benchmark::DoNotOptimize(trained->perceptron.PredictRows(data.features()));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

// Three epochs.
void BM_TrainPerceptron(benchmark::State& state) {
  const DataSet data =
      test_data::MakeCurve({.num_rows = 80'000, .num_features = kNumFeatures, .noise = 0.05});
  const std::vector<RowIndex> rows = data.AllRows();
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        TrainPerceptron(data, {.train = rows, .validation = {}}, kWideNetwork));
  }
  state.SetItemsProcessed(state.iterations() * 80'000);
}

BENCHMARK(BM_ForestRows)->Arg(10)->Arg(10'000);
BENCHMARK(BM_ForestOneRow);
BENCHMARK(BM_TrainBoostedTrees)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(BM_PerceptronRows)->Arg(1)->Arg(1'000);
BENCHMARK(BM_TrainPerceptron)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace orrery::learn
