#include "orrery/simulate/engine/engine.h"

#include <cstdint>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/error.h"
#include "orrery/simulate/engine/ensembles_test.h"
#include "orrery/simulate/engine/pending_collectives.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/simulate/network/port_usage.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {
namespace {

using ::testing::HasSubstr;
using workload::Ensemble;
using workload::TaskId;

Timeline SimulateOrDie(const RankClasses& rank_classes, const EngineOptions& options = {}) {
  PlainTimes times;
  Result<Timeline> timeline = Simulate(rank_classes, times, options);
  EXPECT_TRUE(timeline.has_value()) << timeline.error().message();
  return timeline ? *std::move(timeline) : Timeline{};
}

Timeline SimulateUnfolded(const Ensemble& ensemble, const EngineOptions& options = {}) {
  return SimulateOrDie(Unfolded(ensemble, IslandLinkClass(8)), options);
}

/// Two ranks with programs of their own and one group on role 0.
Ensemble Pair(RankWriter first, RankWriter second) {
  Ensemble ensemble;
  ensemble.num_roles = 1;
  ensemble.programs.push_back(std::move(first.program));
  ensemble.programs.push_back(std::move(second.program));
  AddRank(ensemble, 0);
  AddRank(ensemble, 1);
  Join(ensemble, 0, {0, 1});
  return ensemble;
}

// Rank 0 computes 0–100, rank 1 0–250; then they reduce 40 bytes: 0 arrives at 100, 1 at 250, the
// transfer runs 250–290 for both. What follows begins at 290.
TEST(EngineTest, ACollectiveStartsWhenItsLastMemberArrives) {
  const auto write = [](std::int64_t work_ps) {
    RankWriter rank({"dp"});
    const TaskId work = rank.Kernel(work_ps);
    const TaskId reduce = rank.Talk(0, 40);
    const TaskId after = rank.Kernel(7);
    rank.After(work, reduce);
    rank.After(reduce, after);
    return rank;
  };
  const Timeline simulated = SimulateUnfolded(Pair(write(100), write(250)));

  EXPECT_EQ(simulated.begin_ps, (std::vector<std::int64_t>{0, 100, 290, 0, 250, 290}));
  EXPECT_EQ(simulated.transfer_ps,
            (std::vector<std::int64_t>{kNeverPs, 250, kNeverPs, kNeverPs, 250, kNeverPs}));
  EXPECT_EQ(simulated.end_ps, (std::vector<std::int64_t>{100, 290, 297, 250, 290, 297}));
  EXPECT_EQ(simulated.num_events, 6);
}

// 1F1B with two stages and two micro-batches; F takes 10, B 20, a message 1 (1 byte), and sends do
// not hold up computing. GroupRoles: 0 forward, 1 backward, each on a stream of its own.
// Stage 0: F0 0–10, F1 10–20. Messages: 10–11 and 20–21.
// Stage 1: F0 11–21, B0 21–41, F1 41–51 (its input is there since 21), B1 51–71. Gradients:
// 41–42 and 71–72. Stage 0: B0 42–62, B1 72–92.
TEST(EngineTest, OneForwardOneBackward) {
  RankWriter first({"pp forward", "pp backward"});
  RankWriter last({"pp forward", "pp backward"});
  for (RankWriter* rank : {&first, &last}) {
    rank->program.lanes.Append({.kind = workload::LaneKind::kStream});
  }
  std::vector<TaskId> f;
  for (int i = 0; i < 2; ++i) {
    f.push_back(first.Kernel(10));
    first.After(f.back(), first.Message(0, 1));
  }
  std::vector<TaskId> b;
  for (int i = 0; i < 2; ++i) {
    const TaskId gradient = first.Message(1, 1, 3);
    b.push_back(first.Kernel(20));
    first.After(gradient, b.back());
  }
  std::vector<TaskId> last_b;
  for (int i = 0; i < 2; ++i) {
    const TaskId input = last.Message(0, 1);
    const TaskId forward = last.Kernel(10);
    last.After(input, forward);
    last_b.push_back(last.Kernel(20));
    last.After(last_b.back(), last.Message(1, 1, 3));
  }
  Ensemble ensemble;
  ensemble.num_roles = 2;
  ensemble.programs.push_back(std::move(first.program));
  ensemble.programs.push_back(std::move(last.program));
  AddRank(ensemble, 0);
  AddRank(ensemble, 1);
  Join(ensemble, 0, {0, 1});
  Join(ensemble, 1, {0, 1});

  const Timeline simulated = SimulateUnfolded(ensemble);

  EXPECT_EQ(simulated.begin_ps[f[1]], 10);
  EXPECT_EQ(simulated.end_ps[simulated.First(1) + last_b[0]], 41);
  EXPECT_EQ(simulated.end_ps[simulated.First(1) + last_b[1]], 71);
  EXPECT_EQ(simulated.begin_ps[b[0]], 42);
  EXPECT_EQ(simulated.begin_ps[b[1]], 72);
  EXPECT_EQ(simulated.EndPs(), 92);
  EXPECT_EQ(simulated.EndOf(1), 72);
}

// A rank alone in its group waits for no others; one without a group takes its program's time.
TEST(EngineTest, GroupsOfOneStartAtOnce) {
  RankWriter rank({"tp", "dp"});
  rank.Talk(0, 5);
  const TaskId own = rank.Talk(1, 1000);
  rank.program.tasks.duration_ps[own] = 3;
  Ensemble ensemble;
  ensemble.num_roles = 2;
  ensemble.programs.push_back(std::move(rank.program));
  AddRank(ensemble, 0);
  Join(ensemble, 0, {0});

  EXPECT_EQ(SimulateUnfolded(ensemble).EndPs(), 8);
}

TEST(EngineTest, EqualGroupsAreAskedForOnce) {
  RankWriter rank({"tp"});
  rank.Talk(0, 5);
  rank.Talk(0, 5);
  rank.Talk(0, 6);
  Ensemble ensemble;
  ensemble.num_roles = 1;
  ensemble.programs.push_back(std::move(rank.program));
  for (int i = 0; i < 8; ++i) {
    AddRank(ensemble, 0);
  }
  Join(ensemble, 0, {0, 1, 2, 3});
  Join(ensemble, 0, {4, 5, 6, 7});
  PlainTimes times;

  ASSERT_TRUE(Simulate(Unfolded(ensemble, IslandLinkClass(8)), times).has_value());

  EXPECT_EQ(times.num_asked, 2);
}

TEST(EngineTest, MembersThatDoDifferentThingsAreNamed) {
  RankWriter first({"dp"});
  first.Talk(0, 40);
  RankWriter second({"dp"});
  second.Kernel(1);
  second.Talk(0, 41);
  const Ensemble ensemble = Pair(std::move(first), std::move(second));
  PlainTimes times;

  const Result<Timeline> simulated = Simulate(Unfolded(ensemble, IslandLinkClass(8)), times);

  ASSERT_FALSE(simulated.has_value());
  EXPECT_THAT(simulated.error().message(), HasSubstr("task 0 (all_reduce) of rank 0"));
  EXPECT_THAT(simulated.error().message(), HasSubstr("task 1 (all_reduce) of rank 1"));
  EXPECT_THAT(simulated.error().message(), HasSubstr("41 bytes"));
}

// The slowest part of an all-to-all decides: 60 bytes.
TEST(EngineTest, TheLargestPartOfAnAllToAllCounts) {
  RankWriter first({"ep"});
  first.Talk(0, 40, 2, CollectiveKind::kAllToAll);
  RankWriter second({"ep"});
  second.Talk(0, 60, 2, CollectiveKind::kAllToAll);

  EXPECT_EQ(SimulateUnfolded(Pair(std::move(first), std::move(second))).EndPs(), 60);
}

TEST(EngineTest, RanksThatWaitForEachOtherAreNamed) {
  RankWriter first({"dp"});
  first.Talk(0, 40);
  RankWriter second({"dp"});
  second.Kernel(1);
  const Ensemble ensemble = Pair(std::move(first), std::move(second));
  PlainTimes times;

  const Result<Timeline> simulated = Simulate(Unfolded(ensemble, IslandLinkClass(8)), times);

  ASSERT_FALSE(simulated.has_value());
  EXPECT_THAT(simulated.error().message(),
              HasSubstr("task 0 (all_reduce) of rank 0, which waits for its group"));
}

// Kernels of rank 1 take 1.5 times as long, so that both are done with 15 + 4.
TEST(EngineTest, ASlowRankHoldsUpItsGroup) {
  RankWriter rank({"dp"});
  const TaskId work = rank.Kernel(10);
  rank.After(work, rank.Talk(0, 4));
  Ensemble ensemble;
  ensemble.num_roles = 1;
  ensemble.programs.push_back(std::move(rank.program));
  AddRank(ensemble, 0);
  AddRank(ensemble, 0, 1.5);
  Join(ensemble, 0, {0, 1});

  const Timeline simulated = SimulateUnfolded(ensemble);

  EXPECT_EQ(simulated.end_ps, (std::vector<std::int64_t>{10, 19, 15, 19}));
}

// Kernels of 10^15 ps that take 1,000 times as long: twelve days, in 64 bits, and beyond them.
TEST(EngineTest, AStepThatTakesDaysIsRefused) {
  for (const std::int64_t duration_ps : {std::int64_t{1'000'000'000'000'000}, kLongestPs}) {
    RankWriter rank({"dp"});
    const TaskId work = rank.Kernel(duration_ps);
    rank.After(work, rank.Talk(0, 4));
    Ensemble ensemble;
    ensemble.num_roles = 1;
    ensemble.programs.push_back(std::move(rank.program));
    AddRank(ensemble, 0);
    AddRank(ensemble, 0, 1000);
    Join(ensemble, 0, {0, 1});
    PlainTimes times;
    LinkTimes links(8);
    PortMap ports;
    const RankClasses ranks = Unfolded(ensemble, IslandLinkClass(8));
    PortUsage usage(ranks, links, ports);
    for (const Result<Timeline>& simulated :
         {Simulate(ranks, times), Simulate(ranks, links, {.links = &usage})}) {
      ASSERT_FALSE(simulated.has_value());
      EXPECT_THAT(simulated.error().message(), HasSubstr("longer than six days"));
    }
  }
}

// The host launches a kernel of 100 in 10; the queue holds two, so the launch of step n ends when
// the kernel of step n − 2 begins.
TEST(EngineTest, LaunchIntoAFullQueueWaits) {
  RankWriter rank({});
  rank.Launched(10, 100);
  Ensemble ensemble;
  ensemble.programs.push_back(std::move(rank.program));
  AddRank(ensemble, 0);

  const Timeline simulated = SimulateUnfolded(ensemble, {.repetitions = 5, .queue_depth = 2});

  EXPECT_EQ(simulated.end_ps[simulated.First(0, 2)], 30);
  EXPECT_EQ(simulated.end_ps[simulated.First(0, 3)], 110);
  EXPECT_EQ(simulated.end_ps[simulated.First(0, 4)], 210);
  EXPECT_EQ(simulated.EndPs(), 510);
}

}  // namespace
}  // namespace orrery::simulate
