#include "orrery/simulate/explain/summary.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/kernel/operator.h"
#include "orrery/simulate/explain/advice.h"
#include "orrery/simulate/explain/breakdown.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/model/model.h"

namespace orrery::simulate {
namespace {

StepSummary SummaryOf(std::vector<TimeShare> shares) {
  StepSummary summary;
  for (const TimeShare& share : shares) {
    summary.breakdown.step_ps += share.ps;
  }
  summary.step_ps = summary.breakdown.step_ps;
  summary.breakdown.shares = std::move(shares);
  return summary;
}

TEST(BottleneckTest, ComputeAndTheLargestLoss) {
  EXPECT_EQ(BottleneckSentence(SummaryOf({{TimeKind::kCompute, "products", 60},
                                          {TimeKind::kCompute, "norms", 10},
                                          {TimeKind::kTransfer, "tp", 8},
                                          {TimeKind::kBubble, "", 17},
                                          {TimeKind::kWait, "tp", 5}})),
            "Compute, 70 % of the step (GEMMs 60 %); the largest loss is the pipeline's bubble, "
            "17 %.");
  EXPECT_EQ(BottleneckSentence(
                SummaryOf({{TimeKind::kCompute, "products", 99}, {TimeKind::kOptimizer, "", 1}})),
            "Compute, 99 % of the step (GEMMs 99 %); nothing else takes more than a few percent.");
}

TEST(BottleneckTest, WhatIsLongerThanComputeComesFirst) {
  EXPECT_EQ(BottleneckSentence(SummaryOf({{TimeKind::kCompute, "products", 45},
                                          {TimeKind::kTransfer, "ep", 50},
                                          {TimeKind::kWait, "ep", 5}})),
            "Mostly exposed ep communication, 50 % of the step.");
}

// The grad-norm all-reduce transfers 4 bytes: 30 of the 31 are waiting for ranks that come late.
TEST(BottleneckTest, WaitingForLateRanksIsNotCommunication) {
  EXPECT_EQ(BottleneckSentence(SummaryOf({{TimeKind::kCompute, "products", 69},
                                          {TimeKind::kTransfer, "all", 1},
                                          {TimeKind::kWait, "all", 30}})),
            "Compute, 69 % of the step (GEMMs 69 %); the largest loss is waiting in global "
            "synchronisation, 30 %.");
}

TEST(BottleneckTest, MemoryBeforeAll) {
  StepSummary summary = SummaryOf({{TimeKind::kCompute, "products", 1}});
  summary.stages = {
      {.memory = {.needed_bytes = 100, .parts = {{"activations", 90}}}, .name = "stage 2"}};
  summary.memory_size_bytes = 100;
  EXPECT_FALSE(summary.IsOutOfMemory());
  summary.memory_size_bytes = 99;
  EXPECT_TRUE(summary.IsOutOfMemory());
  EXPECT_EQ(BottleneckSentence(summary),
            "Memory: the job does not fit; activations of stage 2 are the largest part.");
  summary.stages.front().memory.parts.clear();  // as of traced ranks
  EXPECT_EQ(BottleneckSentence(summary), "Memory: the job does not fit; stage 2 needs most.");
}

TEST(ShareNamesTest, KeysTellWhatIsShared) {
  EXPECT_EQ(ShareKey({TimeKind::kCompute, "products", 1}), "compute.products");
  EXPECT_EQ(ShareKey({TimeKind::kTransfer, "tp", 1}), "exposed.tp");
  EXPECT_EQ(ShareKey({TimeKind::kWait, "dp", 1}), "wait.dp");
  EXPECT_EQ(ShareKey({TimeKind::kBubble, "", 1}), "bubble");
}

// A layer list has 2 · m · n · k operations forward and twice as many backward: 3 · 2 · 8 · 4 · 2 =
// 384 for a sample, 768 for two; a GPU of 100 FLOP/s could do 400 in 4 s, two of them 800.
TEST(UtilisationTest, ModelOverPeak) {
  workload::Job job;
  workload::ListedLayer layer;
  layer.name = "product";
  layer.forward.push_back(kernel::ParseOperator("gemm m=8 n=4 k=2 bf16").value());
  job.model.body = workload::LayerList{{layer}};
  job.training.global_batch = 2;
  job.gpus = 2;
  job.gpu.peak_flops["bf16"] = 100;
  const Utilisation model = ModelUtilisation(job, 4'000'000'000'000);
  EXPECT_DOUBLE_EQ(model.flops, 768);
  EXPECT_DOUBLE_EQ(model.share, 0.96);
  EXPECT_DOUBLE_EQ(model.flops_per_s_of_gpu, 96);  // 768 / 2 / 4
  EXPECT_EQ(HardwareUtilisation(job, 4'000'000'000'000).flops, 768);
}

}  // namespace
}  // namespace orrery::simulate
