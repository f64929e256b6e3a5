#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/collective_kind.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/ensembles_test.h"
#include "orrery/simulate/engine/overlap_rates.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using workload::Ensemble;
using workload::TaskId;

std::vector<double> RatesOf(const std::vector<RunningTask>& running) {
  std::vector<double> rates(running.size(), 0);
  AnalyticOverlap().Rates(running, rates);
  return rates;
}

TEST(AnalyticOverlapTest, ATaskAloneRunsAtFullSpeed) {
  EXPECT_THAT(RatesOf({{.sm_share = 1'000'000, .memory_share = 1'000'000}}), ElementsAre(1.0));
}

// 25 % of the multiprocessors are taken: a kernel that fills the GPU has 0.75 of its speed, one
// that needs half of it loses nothing.
TEST(AnalyticOverlapTest, CommunicationTakesMultiprocessorsEvenWhileItWaits) {
  const RunningTask waiting{.sm_share = 250'000, .is_communication = true, .is_waiting = true};

  EXPECT_THAT(RatesOf({{.sm_share = 1'000'000}, waiting}), ElementsAre(0.75, 1.0));
  EXPECT_THAT(RatesOf({{.sm_share = 500'000}, waiting}), ElementsAre(1.0, 1.0));
}

// 0.8 and 0.45 of the bandwidth are 1.25 together: both get 0.8 of what they want. A task that
// does not touch the memory is not slowed down.
TEST(AnalyticOverlapTest, BandwidthIsSharedInProportion) {
  EXPECT_THAT(RatesOf({{.sm_share = 100'000, .memory_share = 800'000},
                       {.memory_share = 450'000, .is_communication = true},
                       {.sm_share = 100'000}}),
              ElementsAre(DoubleEq(0.8), DoubleEq(0.8), 1.0));
}

TEST(AnalyticOverlapTest, TheScarcestThingDecides) {
  EXPECT_THAT(RatesOf({{.sm_share = 1'000'000, .memory_share = 800'000},
                       {.sm_share = 500'000, .memory_share = 450'000, .is_communication = true}}),
              ElementsAre(0.5, DoubleEq(0.8)));
}

/// One rank in a group of its own with shares for a kernel that fills the GPU (part 0) and for
/// communication that takes a quarter of it (part 1).
class SharedGpu {
 public:
  SharedGpu() : rank({"dp"}) {
    rank.program.parts.Append({.sm_share = 1'000'000});
    rank.program.parts.Append({.sm_share = 250'000});
  }

  Timeline SimulateWithRates() {
    ensemble.num_roles = 1;
    ensemble.programs.push_back(std::move(rank.program));
    AddRank(ensemble, 0);
    Join(ensemble, 0, {0});
    const AnalyticOverlap overlap;
    PlainTimes times;
    return *Simulate(Unfolded(ensemble, IslandLinkClass(8)), times, {.rates = &overlap});
  }

  RankWriter rank;
  Ensemble ensemble;
};

// A kernel of 1000 and, from 0 on, communication of 300. The kernel does 225 in the first 300 and
// 775 in the rest: it ends at 1075.
TEST(AnalyticOverlapTest, AKernelStretchesWhileCommunicationRuns) {
  SharedGpu gpu;
  const TaskId kernel = gpu.rank.Kernel(1000, 0);
  const TaskId reduce = gpu.rank.Talk(0, 300, 2, CollectiveKind::kAllReduce, 1);

  const Timeline simulated = gpu.SimulateWithRates();

  EXPECT_EQ(simulated.end_ps[reduce], 300);
  EXPECT_EQ(simulated.end_ps[kernel], 1075);
}

// Kernels of 90 and 100 one after the other; communication of 60 begins with the second (edge).
// The second does 45 of its 100 in 60, then 55: it ends at 90 + 60 + 55 = 205.
TEST(AnalyticOverlapTest, RatesChangeInTheMiddleOfATask) {
  SharedGpu gpu;
  const TaskId first = gpu.rank.Kernel(90, 0);
  const TaskId second = gpu.rank.Kernel(100, 0);
  const TaskId reduce = gpu.rank.Talk(0, 60, 2, CollectiveKind::kAllReduce, 1);
  gpu.rank.After(first, reduce);

  const Timeline simulated = gpu.SimulateWithRates();

  EXPECT_EQ(simulated.end_ps[reduce], 150);
  EXPECT_EQ(simulated.end_ps[second], 205);
}

// Two ranks reduce with memory shares of 0.5 each, 100 bytes. Rank 1 also runs a kernel of 40 with
// a share of 1: together 1.5, so both run at 2/3 there, and the transfer at that of its slowest
// member. The rates are whole parts of 65,536: 2/3 is 43,691 parts. The kernel ends at
// ceil(40 · 65536 / 43691) = 60; by then 60 · 43691 / 65536 = 40.0003 of the transfer is done, and
// the rest takes ceil(59.9997) = 60.
TEST(AnalyticOverlapTest, ATransferIsAsFastAsItsSlowestMember) {
  Ensemble ensemble;
  ensemble.num_roles = 1;
  TaskId reduce = 0;
  for (const bool is_busy : {false, true}) {
    RankWriter rank({"dp"});
    rank.program.parts.Append({.memory_share = 500'000});
    rank.program.parts.Append({.sm_share = 1'000'000, .memory_share = 1'000'000});
    reduce = rank.Talk(0, 100, 2, CollectiveKind::kAllReduce, 0);
    if (is_busy) {
      rank.Kernel(40, 1);
    }
    ensemble.programs.push_back(std::move(rank.program));
    AddRank(ensemble, is_busy ? 1 : 0);
  }
  Join(ensemble, 0, {0, 1});
  const AnalyticOverlap overlap;
  PlainTimes times;

  const Timeline simulated =
      *Simulate(Unfolded(ensemble, IslandLinkClass(8)), times, {.rates = &overlap});

  EXPECT_EQ(simulated.end_ps[simulated.First(1) + 1], 60);
  EXPECT_EQ(simulated.end_ps[simulated.First(0) + reduce], 120);
  EXPECT_EQ(simulated.end_ps[simulated.First(1) + reduce], 120);
}

}  // namespace
}  // namespace orrery::simulate
