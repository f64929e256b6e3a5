#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/base/error.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/ensembles_test.h"
#include "orrery/simulate/engine/jitter.h"
#include "orrery/simulate/engine/overlap_rates.h"
#include "orrery/simulate/engine/pair_models_test.h"
#include "orrery/simulate/engine/random_ensembles_test.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {
namespace {

using workload::Ensemble;
using workload::Rank;

constexpr std::uint32_t kIsland = 4;

Timeline SimulatedBy(const RankClasses& rank_classes, const RateModel* rates) {
  PlainTimes times(kIsland);
  Result<Timeline> simulated =
      Simulate(rank_classes, times, {.repetitions = 2, .queue_depth = 3, .rates = rates});
  RC_ASSERT(simulated.has_value());
  return *std::move(simulated);
}

/// The columns of one rank.
std::vector<std::int64_t> TimesOf(const RankClasses& rank_classes, const Timeline& simulated,
                                  Rank rank) {
  const RankClassId rank_class = rank_classes.class_of_rank[rank];
  std::vector<std::int64_t> times;
  for (const auto* column : {&simulated.begin_ps, &simulated.transfer_ps, &simulated.end_ps}) {
    times.insert(times.end(),
                 column->begin() + static_cast<std::ptrdiff_t>(simulated.offsets[rank_class]),
                 column->begin() + static_cast<std::ptrdiff_t>(simulated.offsets[rank_class + 1]));
  }
  return times;
}

void AssertFoldedIsUnfolded(const Ensemble& ensemble, const RateModel* rates) {
  const RankClasses folded = Fold(ensemble, IslandLinkClass(kIsland));
  const RankClasses unfolded = Unfolded(ensemble, IslandLinkClass(kIsland));
  const Timeline few = SimulatedBy(folded, rates);
  const Timeline all = SimulatedBy(unfolded, rates);
  for (Rank rank = 0; rank < ensemble.num_ranks(); ++rank) {
    RC_ASSERT(TimesOf(folded, few, rank) == TimesOf(unfolded, all, rank));
  }
  RC_CLASSIFY(
      std::ranges::any_of(all.delayed, [](const DelayedTask& task) { return task.delayed_ps > 0; }),
      "somebody waits for room");
  RC_TAG(folded.classes.size() * 2 <= unfolded.classes.size() ? "halved" : "hardly folded");
}

RC_GTEST_PROP(FoldProperty, FoldedRanksHaveTheTimesOfUnfoldedOnes, (const RandomJob& job)) {
  AssertFoldedIsUnfolded(job.Write(), nullptr);
}

RC_GTEST_PROP(FoldProperty, FoldingIsExactWithRatesToo, (const RandomJob& job)) {
  const AnalyticOverlap overlap;
  AssertFoldedIsUnfolded(job.Write(), &overlap);
}

// The same job with times that models of pairs tell apart.
Ensemble InNanoseconds(const RandomJob& job) {
  Ensemble ensemble = job.Write();
  for (workload::Program& program : ensemble.programs) {
    for (std::int64_t& duration_ps : program.tasks.duration_ps) {
      duration_ps *= 1000;
    }
    for (std::int64_t& bytes : program.communications.bytes) {
      bytes *= 1000;
    }
  }
  return ensemble;
}

RC_GTEST_PROP(FoldProperty, FoldingIsExactWithPairsAndDelaysToo, (const RandomJob& job)) {
  const BusyModel model;
  const ModelledOverlap overlap = OverlapBy(model);
  AssertFoldedIsUnfolded(InNanoseconds(job), &overlap);
}

// A model that remembers what other simulates asked for says the same as a new one.
RC_GTEST_PROP(FoldProperty, WhatAModelRemembersChangesNothing,
              (const RandomJob& before, const RandomJob& job)) {
  const BusyModel model;
  const ModelledOverlap used = OverlapBy(model);
  const ModelledOverlap fresh = OverlapBy(model);
  const Ensemble first = InNanoseconds(before);
  SimulatedBy(Unfolded(first, IslandLinkClass(kIsland)), &used);
  const Ensemble ensemble = InNanoseconds(job);
  const RankClasses rank_classes = Unfolded(ensemble, IslandLinkClass(kIsland));
  RC_ASSERT(SimulatedBy(rank_classes, &used) == SimulatedBy(rank_classes, &fresh));
}

/// Tasks do not slow each other down.
class FullSpeed : public RateModel {
 public:
  void Rates(std::span<const RunningTask> /*running*/, std::span<double> rates) const override {
    std::fill(rates.begin(), rates.end(), 1.0);
  }
};

RC_GTEST_PROP(EngineProperty, InOrderOfTimeOrNotIsTheSame, (const RandomJob& job)) {
  const Ensemble ensemble = job.Write();
  const RankClasses rank_classes = Unfolded(ensemble, IslandLinkClass(kIsland));
  const FullSpeed full_speed;
  RC_ASSERT(SimulatedBy(rank_classes, nullptr) == SimulatedBy(rank_classes, &full_speed));
}

RC_GTEST_PROP(EngineProperty, TheSameJobGivesTheSameTimes, (const RandomJob& job)) {
  const Ensemble ensemble = job.Write();
  const AnalyticOverlap overlap;
  RC_ASSERT(SimulatedBy(Fold(ensemble, IslandLinkClass(kIsland)), &overlap) ==
            SimulatedBy(Fold(ensemble, IslandLinkClass(kIsland)), &overlap));
}

RC_GTEST_PROP(EngineProperty, ShorterTasksNeverLengthenTheStep,
              (const RandomJob& job, std::uint32_t which)) {
  Ensemble ensemble = job.Write();
  const RankClasses rank_classes = Unfolded(ensemble, IslandLinkClass(kIsland));
  const std::int64_t before = SimulatedBy(rank_classes, nullptr).EndPs();
  workload::Program& program = ensemble.programs[which % ensemble.programs.size()];
  RC_PRE(!program.tasks.empty());
  program.tasks.duration_ps[which / 7 % program.tasks.size()] /= 2;
  RC_ASSERT(SimulatedBy(rank_classes, nullptr).EndPs() <= before);
}

// One kernel of 1,000,000 ps, then a reduction over n ranks: the slowest of 8 is 1.4342 sigma late
// (Φ⁻¹(7.625 / 8.25)), so sigma 0.01 costs 14,342 ps.
TEST(JitterTest, FoldedRankClassesWaitForTheSlowestOfTheirRanks) {
  RankWriter rank({"dp"});
  const auto kernel = rank.Kernel(1'000'000);
  rank.After(kernel, rank.Talk(0, 0));
  Ensemble ensemble;
  ensemble.num_roles = 1;
  ensemble.programs.push_back(std::move(rank.program));
  for (int i = 0; i < 8; ++i) {
    AddRank(ensemble, 0);
  }
  Join(ensemble, 0, {0, 1, 2, 3, 4, 5, 6, 7});
  PlainTimes times;

  const Timeline folded = *Simulate(Fold(ensemble, IslandLinkClass(8)), times, {.jitter = 0.01});
  const Timeline drawn = *Simulate(Unfolded(ensemble, IslandLinkClass(8)), times, {.jitter = 0.01});

  EXPECT_NEAR(static_cast<double>(folded.EndPs()), 1'014'342, 5);
  EXPECT_GT(drawn.EndPs(), 1'000'000);
  EXPECT_LT(drawn.EndPs(), 1'050'000);
}

TEST(JitterTest, DrawsHaveMeanOneAndTheAskedSpread) {
  constexpr int kDraws = 100'000;
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double factor = DrawFactor(0.1, 1, 3, static_cast<std::uint64_t>(i));
    sum += factor;
    squares += (factor - 1) * (factor - 1);
  }
  EXPECT_NEAR(sum / kDraws, 1, 0.002);
  EXPECT_NEAR(squares / kDraws, 0.01005, 0.0005);  // exp(sigma²) − 1
}

}  // namespace
}  // namespace orrery::simulate
