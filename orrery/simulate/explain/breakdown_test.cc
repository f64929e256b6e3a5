#include "orrery/simulate/explain/breakdown.h"

#include <cstdint>
#include <string_view>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/ensembles_test.h"
#include "orrery/simulate/engine/overlap_rates.h"
#include "orrery/simulate/engine/random_ensembles_test.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {
namespace {

using ::testing::ElementsAre;
using workload::Ensemble;
using workload::PartId;
using workload::Phase;
using workload::TaskId;

PartId AddPart(RankWriter& rank, std::string_view category, Phase phase = Phase::kForward) {
  return rank.program.parts.Append(
      {.category = rank.program.strings.Intern(category), .phase = phase});
}

Ensemble Alone(RankWriter rank) {
  Ensemble ensemble;
  ensemble.num_roles = static_cast<std::uint32_t>(rank.program.roles.size());
  ensemble.programs.push_back(std::move(rank.program));
  AddRank(ensemble, 0);
  for (std::uint32_t role = 0; role < ensemble.num_roles; ++role) {
    Join(ensemble, role, {0});
  }
  return ensemble;
}

Breakdown BreakdownFor(const Ensemble& ensemble, RankClassId rank_class = 0) {
  const RankClasses rank_classes = Unfolded(ensemble, IslandLinkClass(8));
  PlainTimes times;
  return BreakdownOf(rank_classes, *Simulate(rank_classes, times), rank_class);
}

// Product 0–100; a reduction 100–140 beside an attention 100–130, so 10 of it are exposed; then the
// optimizer 140–160.
TEST(BreakdownTest, CommunicationCountsWhereNothingComputes) {
  RankWriter rank({"tp"});
  const TaskId product = rank.Kernel(100, AddPart(rank, "product"));
  const TaskId reduce = rank.Talk(0, 40);
  rank.After(product, reduce);
  rank.Kernel(30, AddPart(rank, "attention"));
  const TaskId step = rank.Kernel(20, AddPart(rank, "adam", Phase::kOptimizer));
  rank.After(reduce, step);

  const Breakdown breakdown = BreakdownFor(Alone(std::move(rank)));

  EXPECT_EQ(breakdown.step_ps, 160);
  EXPECT_THAT(breakdown.shares, ElementsAre(TimeShare{TimeKind::kCompute, "attention", 30},
                                            TimeShare{TimeKind::kCompute, "product", 100},
                                            TimeShare{TimeKind::kOptimizer, "", 20},
                                            TimeShare{TimeKind::kTransfer, "tp", 10}));
}

// Rank 1 computes 300, rank 0 100 and then waits until 300; the reduction takes 50.
TEST(BreakdownTest, WaitingForOthersIsNotTransfer) {
  const auto job = [](std::string_view role) {
    Ensemble ensemble;
    ensemble.num_roles = 1;
    for (const std::int64_t work_ps : {100, 300}) {
      RankWriter rank({role});
      const auto kernel = rank.Kernel(work_ps, AddPart(rank, "product"));
      rank.After(kernel, rank.Talk(0, 50));
      ensemble.programs.push_back(std::move(rank.program));
    }
    AddRank(ensemble, 0);
    AddRank(ensemble, 1);
    Join(ensemble, 0, {0, 1});
    return ensemble;
  };

  EXPECT_THAT(
      BreakdownFor(job("dp"), 0).shares,
      ElementsAre(TimeShare{TimeKind::kCompute, "product", 100},
                  TimeShare{TimeKind::kTransfer, "dp", 50}, TimeShare{TimeKind::kWait, "dp", 200}));
  EXPECT_THAT(
      BreakdownFor(job("pp forward 0"), 0).shares,
      ElementsAre(TimeShare{TimeKind::kCompute, "product", 100},
                  TimeShare{TimeKind::kTransfer, "pp", 50}, TimeShare{TimeKind::kBubble, "", 200}));
}

// Launches take 10; the first kernel runs 10–15 and the second 20–60: the host is waited for 0–10
// and 15–20. At the end the host works until 100.
TEST(BreakdownTest, PausesBeforeALaunchAreTheHosts) {
  RankWriter rank({});
  rank.Launched(10, 5);
  rank.Launched(10, 40);
  rank.program.tasks.Append({.lane = 0, .duration_ps = 80});

  const Breakdown breakdown = BreakdownFor(Alone(std::move(rank)));

  EXPECT_EQ(breakdown.step_ps, 100);
  EXPECT_THAT(breakdown.shares, ElementsAre(TimeShare{TimeKind::kCompute, "other", 45},
                                            TimeShare{TimeKind::kHost, "", 55}));
}

// Nothing is left of a step without communication but computing and what is idle: a kernel that
// waits 7 behind another one, on one stream, pauses.
TEST(BreakdownTest, PausesForOtherReasonsAreBetweenKernels) {
  RankWriter rank({});
  const TaskId first = rank.Kernel(10);
  rank.After(first, rank.Kernel(10), 7);

  const Breakdown breakdown = BreakdownFor(Alone(std::move(rank)));

  EXPECT_EQ(breakdown.TotalPs(TimeKind::kIdle), 7);
  EXPECT_EQ(breakdown.TotalPs(TimeKind::kCompute), 20);
}

RC_GTEST_PROP(BreakdownProperty, SharesAddUpToTheStep, (const RandomJob& job, bool has_rates)) {
  const Ensemble ensemble = job.Write();
  const RankClasses rank_classes = Fold(ensemble, IslandLinkClass(4));
  const AnalyticOverlap overlap;
  PlainTimes times(4);
  const Timeline simulated = LastStep(
      *Simulate(rank_classes, times, {.repetitions = 2, .rates = has_rates ? &overlap : nullptr}));
  for (RankClassId rank_class = 0; rank_class < rank_classes.classes.size(); ++rank_class) {
    const Breakdown breakdown = BreakdownOf(rank_classes, simulated, rank_class);
    std::int64_t sum_ps = 0;
    for (const TimeShare& share : breakdown.shares) {
      RC_ASSERT(share.ps > 0);
      sum_ps += share.ps;
    }
    RC_ASSERT(sum_ps == breakdown.step_ps);
    RC_ASSERT(breakdown.step_ps == simulated.EndPs());
  }
}

}  // namespace
}  // namespace orrery::simulate
