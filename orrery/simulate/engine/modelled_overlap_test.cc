#include <cstdint>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/kernel/operator.h"
#include "orrery/overlap/concurrent_kernels.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/ensembles_test.h"
#include "orrery/simulate/engine/kernel_code.h"
#include "orrery/simulate/engine/overlap_rates.h"
#include "orrery/simulate/engine/pair_models_test.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {
namespace {

using overlap::Pattern;
using ::testing::DoubleEq;
using ::testing::ElementsAre;
using workload::Ensemble;
using workload::TaskId;

RunningTask Computing(std::int64_t alone_ps, std::uint32_t sm_share = 1'000'000) {
  return {.sm_share = sm_share,
          .side = CodeOf(
              ComputeTask{.operation = static_cast<std::uint8_t>(kernel::OperatorKind::kGemm),
                          .alone_ps = alone_ps,
                          .memory_share = 250'000,
                          .compute_share = 500'000})};
}

RunningTask Communicating(std::uint32_t blocks, bool is_waiting = false) {
  return {.side = CodeOf(CommunicationTask{
              .blocks = blocks, .threads = 544, .pattern = Pattern::kCopy, .payload_gbps = 8}),
          .is_communication = true,
          .is_waiting = is_waiting};
}

std::vector<double> RatesOf(const ModelledOverlap& overlap,
                            const std::vector<RunningTask>& running) {
  std::vector<double> rates(running.size(), 0);
  overlap.Rates(running, rates);
  return rates;
}

TEST(ModelledOverlapTest, RatesAreTheInverseOfSlowdowns) {
  const FixedModel model({1.25, 2});
  const ModelledOverlap overlap = OverlapBy(model);

  EXPECT_THAT(RatesOf(overlap, {Computing(1000), Communicating(25)}),
              ElementsAre(DoubleEq(0.8), DoubleEq(0.5)));
  EXPECT_THAT(RatesOf(overlap, {Computing(1000)}), ElementsAre(1.0));
  EXPECT_THAT(RatesOf(overlap, {Communicating(25)}), ElementsAre(1.0));
}

// 15 ns are a number that stays as it is; a quarter of 10¹² bytes a second for 15 ns are 3,750
// bytes, half of 10¹⁵ operations a second 7,500,000. 8,000 MB/s lie in [7680, 8192): 7,936 in the
// middle.
TEST(ModelledOverlapTest, TheModelSeesBothSides) {
  const FixedModel model({1, 1});
  const ModelledOverlap overlap = OverlapBy(model);

  RatesOf(overlap, {Computing(15'000), Communicating(25)});

  EXPECT_EQ(model.last.compute.kind, "gemm");
  EXPECT_DOUBLE_EQ(model.last.compute.alone_us, 0.015);
  EXPECT_DOUBLE_EQ(model.last.compute.bytes, 3750);
  EXPECT_DOUBLE_EQ(model.last.compute.flops, 7'500'000);
  EXPECT_FALSE(model.last.compute.shape.IsKnown());
  EXPECT_EQ(model.last.communication.shape.blocks, 25);
  EXPECT_EQ(model.last.communication.shape.threads, 544);
  EXPECT_DOUBLE_EQ(model.last.communication.payload_gbps, 7.936);
}

TEST(ModelledOverlapTest, CommunicationSideBySideIsOneKernel) {
  const FixedModel model({1.25, 2});
  const ModelledOverlap overlap = OverlapBy(model);

  const auto rates =
      RatesOf(overlap, {Communicating(25), Computing(1000), Communicating(10, true)});

  EXPECT_THAT(rates, ElementsAre(DoubleEq(0.5), DoubleEq(0.8), DoubleEq(0.5)));
  EXPECT_EQ(model.num_pairs, 1U);
  EXPECT_EQ(model.last.communication.shape.blocks, 35);
  EXPECT_DOUBLE_EQ(model.last.communication.payload_gbps, 7.936);
}

// Two kernels that would fill the GPU have half of it each, and communication slows both.
TEST(ModelledOverlapTest, KernelsThatComputeShareTheRest) {
  const FixedModel model({1.25, 2});
  const ModelledOverlap overlap = OverlapBy(model);

  EXPECT_THAT(RatesOf(overlap, {Computing(1000), Computing(2000), Communicating(25)}),
              ElementsAre(DoubleEq(0.4), DoubleEq(0.4), DoubleEq(0.5)));
}

TEST(ModelledOverlapTest, WhatTakesNothingOfTheGpuIsLeftAlone) {
  const FixedModel model({1.25, 2}, 7);
  const ModelledOverlap overlap = OverlapBy(model);

  EXPECT_THAT(RatesOf(overlap, {Computing(1000, 0), Communicating(25)}), ElementsAre(1.0, 1.0));
  EXPECT_EQ(overlap.DelayPs(Communicating(25), std::vector{Computing(1000, 0)},
                            std::vector<std::int64_t>{0}),
            0);
}

TEST(ModelledOverlapTest, EqualPairsAreAskedForOnce) {
  const FixedModel model({1.25, 2}, 7);
  const ModelledOverlap overlap = OverlapBy(model);
  const std::vector running{Computing(1'000'000)};
  const std::vector<std::int64_t> running_ps{500'000};

  for (int i = 0; i < 3; ++i) {
    RatesOf(overlap, {Computing(1'000'000), Communicating(25)});
    RatesOf(overlap, {Computing(1'010'000), Communicating(25)});  // both in [960, 1024) ns
    EXPECT_EQ(overlap.DelayPs(Communicating(25), running, running_ps), 7'000'000);
  }

  EXPECT_EQ(model.num_pairs, 1U);
  EXPECT_EQ(overlap.num_asked(), 2U);
  EXPECT_TRUE(model.last_arrival.compute_is_first);
  EXPECT_DOUBLE_EQ(model.last_arrival.since_us, 0.496);  // of [480, 512) ns
  EXPECT_DOUBLE_EQ(model.last_arrival.first_us, 0.992);
}

/// One rank in a group of its own; kernels fill the GPU, communication has 25 blocks.
class PairedGpu {
 public:
  PairedGpu() : rank({"dp"}) { rank.program.parts.Append({.sm_share = 1'000'000}); }

  Timeline SimulateWith(const overlap::Model& model) {
    ensemble.num_roles = 1;
    ensemble.programs.push_back(std::move(rank.program));
    AddRank(ensemble, 0);
    Join(ensemble, 0, {0});
    const ModelledOverlap overlap = OverlapBy(model);
    PlainTimes times;
    return *Simulate(Unfolded(ensemble, IslandLinkClass(8)), times, {.rates = &overlap});
  }

  RankWriter rank;
  Ensemble ensemble;
};

// A kernel of 1,000,000 and, from 0 on, communication of 300,000. Both are beside each other until
// the transfer ends, after 300,000 · 2 = 600,000: then the kernel, at 3/4, has done 450,000, and
// the rest takes 550,000.
TEST(ModelledOverlapTest, BothKernelsSlowDownWhileTheyRunConcurrently) {
  PairedGpu gpu;
  const TaskId kernel = gpu.rank.Kernel(1'000'000, 0);
  const TaskId reduce = gpu.rank.Talk(0, 300'000);

  const Timeline simulated = gpu.SimulateWith(FixedModel({4.0 / 3, 2}));

  EXPECT_EQ(simulated.end_ps[reduce], 600'000);
  EXPECT_EQ(simulated.end_ps[kernel], 1'150'000);
  EXPECT_THAT(simulated.delayed,
              ElementsAre(DelayedTask{kernel, 1'000'000, 0}, DelayedTask{reduce, 300'000, 0}));
}

// The same when communication waits 0.2 µs for room: the kernel does 200,000 alone and, beside the
// transfer from 200,000 to 800,000, another 450,000. The rest takes 350,000.
TEST(ModelledOverlapTest, CommunicationThatFindsNoRoomBeginsLater) {
  PairedGpu gpu;
  const TaskId kernel = gpu.rank.Kernel(1'000'000, 0);
  const TaskId reduce = gpu.rank.Talk(0, 300'000);

  const Timeline simulated = gpu.SimulateWith(FixedModel({4.0 / 3, 2}, 0.2));

  EXPECT_EQ(simulated.begin_ps[reduce], 0);
  EXPECT_EQ(simulated.transfer_ps[reduce], 200'000);
  EXPECT_EQ(simulated.end_ps[reduce], 800'000);
  EXPECT_EQ(simulated.end_ps[kernel], 1'150'000);
  EXPECT_THAT(simulated.delayed, ElementsAre(DelayedTask{kernel, 1'000'000, 0},
                                             DelayedTask{reduce, 300'000, 200'000}));
}

// It would wait 0.2 µs, but the kernel ends after 0.1; it was there before the next kernel, which
// does 450,000 beside it from 100,000 to 700,000 and 550,000 alone.
TEST(ModelledOverlapTest, RoomComesAtTheLatestWhenTheKernelEnds) {
  PairedGpu gpu;
  gpu.rank.Kernel(100'000, 0);
  const TaskId second = gpu.rank.Kernel(1'000'000, 0);
  const TaskId reduce = gpu.rank.Talk(0, 300'000);

  const Timeline simulated = gpu.SimulateWith(FixedModel({4.0 / 3, 2}, 0.2));

  EXPECT_EQ(simulated.transfer_ps[reduce], 100'000);
  EXPECT_EQ(simulated.end_ps[reduce], 700'000);
  EXPECT_EQ(simulated.end_ps[second], 1'250'000);
}

// Communication that follows a kernel comes after the next kernel of the stream, which is there in
// the same instant: it waits for room as if that had run before.
TEST(ModelledOverlapTest, TheNextKernelIsThereBeforeCommunicationThatFollowsTheFirst) {
  PairedGpu gpu;
  const TaskId first = gpu.rank.Kernel(100'000, 0);
  gpu.rank.Kernel(1'000'000, 0);
  const TaskId reduce = gpu.rank.Talk(0, 300'000);
  gpu.rank.After(first, reduce);

  const Timeline simulated = gpu.SimulateWith(FixedModel({1, 1}, 0.2));

  EXPECT_EQ(simulated.begin_ps[reduce], 100'000);
  EXPECT_EQ(simulated.transfer_ps[reduce], 300'000);
  EXPECT_EQ(simulated.end_ps[reduce], 600'000);
}

// Rank 1 computes and lets its part of the sum wait 0.2 µs; rank 0 waits for it.
TEST(ModelledOverlapTest, ATransferBeginsWhenAllMembersHaveRoom) {
  Ensemble ensemble;
  ensemble.num_roles = 1;
  TaskId reduce = 0;
  for (const bool is_busy : {false, true}) {
    RankWriter rank({"dp"});
    rank.program.parts.Append({.sm_share = 1'000'000});
    reduce = rank.Talk(0, 300'000);
    if (is_busy) {
      rank.Kernel(1'000'000, 0);
    }
    ensemble.programs.push_back(std::move(rank.program));
    AddRank(ensemble, is_busy ? 1 : 0);
  }
  Join(ensemble, 0, {0, 1});
  const FixedModel model({1, 1}, 0.2);
  const ModelledOverlap overlap = OverlapBy(model);
  PlainTimes times;

  const Timeline simulated =
      *Simulate(Unfolded(ensemble, IslandLinkClass(8)), times, {.rates = &overlap});

  for (const RankClassId rank_class : {0U, 1U}) {
    EXPECT_EQ(simulated.transfer_ps[simulated.First(rank_class) + reduce], 200'000);
    EXPECT_EQ(simulated.end_ps[simulated.First(rank_class) + reduce], 500'000);
  }
  EXPECT_THAT(simulated.delayed,
              ElementsAre(DelayedTask{simulated.First(1) + reduce, 300'000, 200'000}));
}

}  // namespace
}  // namespace orrery::simulate
