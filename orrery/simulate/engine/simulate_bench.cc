#include <cstdint>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "orrery/base/collective_kind.h"
#include "orrery/overlap/analytic_model.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/ensembles_test.h"
#include "orrery/simulate/engine/overlap_rates.h"
#include "orrery/simulate/engine/pair_models_test.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {
namespace {

// A simplified training step: host work, a launch and a kernel, over and over.
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
    benchmark::DoNotOptimize(SimulateSingleRank(program, {.repetitions = 4}));
  }
  state.SetItemsProcessed(state.iterations() * 4 * static_cast<std::int64_t>(program.tasks.size()));
}

BENCHMARK(BM_Run)->Arg(1'000)->Arg(100'000);

constexpr std::uint32_t kTp = 8;
constexpr std::uint32_t kPp = 8;

/// A stage: `layers` times four launched kernels and a reduction in its tensor group, a message
/// from the stage before and one to the stage behind for each of 16 micro-batches; at the end a
/// reduction over its replicas. About 9 tasks a layer.
workload::Program Stage(std::uint32_t stage, int layers) {
  RankWriter rank({"tp", "dp", "pp next", "pp previous"});
  rank.program.lanes.Append({.kind = workload::LaneKind::kStream});
  rank.program.parts.Append({.sm_share = 1'000'000, .memory_share = 400'000});
  rank.program.parts.Append({.sm_share = 150'000, .memory_share = 300'000});
  workload::TaskId last = 0;
  for (int microbatch = 0; microbatch < 16; ++microbatch) {
    if (stage > 0) {
      last = rank.Talk(3, 1'000'000, 2, CollectiveKind::kSendRecv, 1);
    }
    for (int layer = 0; layer < layers; ++layer) {
      for (int i = 0; i < 4; ++i) {
        const workload::TaskId kernel = rank.Launched(2'000'000, 30'000'000 + 1000 * i);
        rank.program.tasks.part[kernel] = 0;
        if (i == 0) {
          rank.After(last, kernel);
        }
        last = kernel;
      }
      const workload::TaskId reduce = rank.Talk(0, 20'000'000, 3, CollectiveKind::kAllReduce, 1);
      rank.After(last, reduce);
      last = reduce;
    }
    if (stage + 1 < kPp) {
      rank.After(last, rank.Talk(2, 1'000'000, 2, CollectiveKind::kSendRecv, 1));
    }
  }
  rank.After(last, rank.Talk(1, 300'000'000, 3));
  return std::move(rank.program);
}

/// Tensor groups of 8, pipelines of 8 stages, the rest replicas.
workload::Ensemble Job(std::uint32_t num_ranks, int layers) {
  workload::Ensemble ensemble;
  ensemble.num_roles = 4;
  const std::uint32_t ranks_per_stage = num_ranks / kPp;
  for (std::uint32_t stage = 0; stage < kPp; ++stage) {
    ensemble.programs.push_back(Stage(stage, layers));
  }
  for (workload::Rank rank = 0; rank < num_ranks; ++rank) {
    AddRank(ensemble, rank / ranks_per_stage);
  }
  for (workload::Rank rank = 0; rank < num_ranks; ++rank) {
    if (rank % kTp == 0) {
      Join(ensemble, 0,
           {rank, rank + 1, rank + 2, rank + 3, rank + 4, rank + 5, rank + 6, rank + 7});
    }
    if (rank % ranks_per_stage < kTp) {
      std::vector<workload::Rank> members;
      for (workload::Rank i = 0; i < ranks_per_stage; i += kTp) {
        members.push_back(rank + i);
      }
      Join(ensemble, 1, members);
    }
    if (rank + ranks_per_stage < num_ranks) {
      const workload::GroupId group =
          ensemble.AddGroup(std::vector<workload::Rank>{rank, rank + ranks_per_stage});
      ensemble.group_of_role[rank * 4 + 2] = group;
      ensemble.group_of_role[(rank + ranks_per_stage) * 4 + 3] = group;
    }
  }
  return ensemble;
}

void SimulateJob(benchmark::State& state, const RankClasses& rank_classes, const RateModel* rates) {
  PlainTimes times;
  std::int64_t num_events = 0;
  for (auto _ : state) {
    num_events += Simulate(rank_classes, times, {.rates = rates})->num_events;
  }
  state.SetItemsProcessed(num_events);
  state.counters["players"] = static_cast<double>(rank_classes.classes.size());
}

void BM_SimulateFolded(benchmark::State& state) {
  const workload::Ensemble ensemble = Job(8192, static_cast<int>(state.range(0)));
  SimulateJob(state, Fold(ensemble, IslandLinkClass(8)), nullptr);
}

BENCHMARK(BM_SimulateFolded)->Arg(12)->Arg(140)->Unit(benchmark::kMillisecond);

void BM_SimulateFoldedWithRates(benchmark::State& state) {
  const workload::Ensemble ensemble = Job(8192, static_cast<int>(state.range(0)));
  const AnalyticOverlap overlap;
  SimulateJob(state, Fold(ensemble, IslandLinkClass(8)), &overlap);
}

BENCHMARK(BM_SimulateFoldedWithRates)->Arg(12)->Arg(140)->Unit(benchmark::kMillisecond);

// Pairs that differ in all that the job's kernels differ in; arithmetic answers as quickly as any
// model that is asked once a pair.
void BM_SimulateFoldedWithPairs(benchmark::State& state) {
  const workload::Ensemble ensemble = Job(8192, static_cast<int>(state.range(0)));
  const overlap::AnalyticModel model;
  const ModelledOverlap overlap = OverlapBy(model);
  SimulateJob(state, Fold(ensemble, IslandLinkClass(8)), &overlap);
  state.counters["asked"] = static_cast<double>(overlap.num_asked());
}

BENCHMARK(BM_SimulateFoldedWithPairs)->Arg(12)->Arg(140)->Unit(benchmark::kMillisecond);

void BM_SimulateUnfolded(benchmark::State& state) {
  const workload::Ensemble ensemble = Job(1024, static_cast<int>(state.range(0)));
  SimulateJob(state, Unfolded(ensemble, IslandLinkClass(8)), nullptr);
}

BENCHMARK(BM_SimulateUnfolded)->Arg(12)->Arg(140)->Unit(benchmark::kMillisecond)->Iterations(1);

void BM_SimulateUnfoldedWithRates(benchmark::State& state) {
  const workload::Ensemble ensemble = Job(1024, static_cast<int>(state.range(0)));
  const AnalyticOverlap overlap;
  SimulateJob(state, Unfolded(ensemble, IslandLinkClass(8)), &overlap);
}

BENCHMARK(BM_SimulateUnfoldedWithRates)
    ->Arg(12)
    ->Arg(140)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);

void BM_Fold(benchmark::State& state) {
  const workload::Ensemble ensemble = Job(static_cast<std::uint32_t>(state.range(0)), 1);
  for (auto _ : state) {
    benchmark::DoNotOptimize(Fold(ensemble, IslandLinkClass(8)));
  }
}

BENCHMARK(BM_Fold)->Arg(8192)->Arg(131'072)->Unit(benchmark::kMillisecond);

void BM_FoldWithAStraggler(benchmark::State& state) {
  workload::Ensemble ensemble = Job(static_cast<std::uint32_t>(state.range(0)), 1);
  ensemble.slowness_of_rank[7] = 1.3;
  for (auto _ : state) {
    benchmark::DoNotOptimize(Fold(ensemble, IslandLinkClass(8)));
  }
}

BENCHMARK(BM_FoldWithAStraggler)->Arg(131'072)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace orrery::simulate
