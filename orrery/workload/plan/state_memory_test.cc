#include <cmath>
#include <cstdint>

#include <gtest/gtest.h>

#include "orrery/base/data_type.h"
#include "orrery/base/math/round_up.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/model/parameters.h"
#include "orrery/workload/plan/activation_memory.h"
#include "orrery/workload/plan/plan.h"
#include "orrery/workload/plan/sharding.h"

namespace orrery::workload {
namespace {

// Parameters that tensor and expert parallelism leave on one rank.
RankParameters OnRank(const PartParameters& part, const Plan& plan) {
  return {.dense = DivideUp(part.split, plan.tp) + part.whole,
          .experts = DivideUp(part.experts, std::int64_t{plan.ep} * plan.expert_tp)};
}

constexpr std::int64_t kLlama8b = 8'030'261'248;

/// In hundredths of a GiB, as tables print it.
std::int64_t Hundredths(std::int64_t bytes) {
  return std::llround(static_cast<double>(bytes) / static_cast<double>(1 << 30) * 100);
}

Plan Replicated(int dp, Sharding sharding) {
  Plan plan;
  plan.dp = dp;
  plan.sharding = sharding;
  return plan;
}

std::int64_t Total(int dp, Sharding sharding) {
  return Hundredths(StatesOf({.dense = kLlama8b}, Replicated(dp, sharding), Training{}).on_gpu());
}

// 2 + 4 + 12 bytes a parameter, whole or by eight and sixty-four ranks.
TEST(StateMemoryTest, ShardingDividesWhatItNames) {
  EXPECT_EQ(Total(8, Sharding::kReplicated), 13462);
  EXPECT_EQ(Total(8, Sharding::kOptimizer), 5609);
  EXPECT_EQ(Total(64, Sharding::kOptimizer), 4627);
  EXPECT_EQ(Total(8, Sharding::kGradients), 2992);
  EXPECT_EQ(Total(64, Sharding::kGradients), 1683);
  EXPECT_EQ(Total(8, Sharding::kParameters), 1683);
  EXPECT_EQ(Total(64, Sharding::kParameters), 210);
  EXPECT_EQ(Total(8, Sharding::kKeepGathered), Total(8, Sharding::kGradients));
}

TEST(StateMemoryTest, HybridShardingSharesAmongFewerRanks) {
  Plan plan = Replicated(64, Sharding::kParameters);
  plan.shard_ranks = 8;
  EXPECT_EQ(Hundredths(StatesOf({.dense = kLlama8b}, plan, Training{}).on_gpu()), 1683);
}

// 18 · 12Lh²/(8p), t = 8, no data parallelism (Korthikanti et al.).
TEST(StateMemoryTest, StatesOfKorthikantisModelsAreThePublishedOnes) {
  struct Case {
    std::int64_t hidden, layers, stages, hundredths;
  };

  for (const Case& c : {Case{6144, 48, 1, 4556}, Case{12288, 96, 8, 4556},
                        Case{20480, 105, 35, 3164}, Case{25600, 128, 64, 3296}}) {
    Plan plan;
    plan.tp = 8;
    const PartParameters part = {.split = 12 * c.layers * c.hidden * c.hidden / c.stages};
    EXPECT_EQ(Hundredths(StatesOf(OnRank(part, plan), plan, Training{}).on_gpu()), c.hundredths);
  }
}

// 16 bytes with gradients of bf16; fp32 needs no master copy: 4 + 4 + 8; SGD keeps a momentum.
TEST(StateMemoryTest, PrecisionAndOptimizerDecideTheBytesOfAParameter) {
  Training training;
  training.precision.gradient_bytes = 2;
  EXPECT_EQ(StatesOf(10, Sharding::kReplicated, 1, training).on_gpu(), 160);
  training.precision = {.compute = DataType::kFp32, .has_master = false};
  EXPECT_EQ(StatesOf(10, Sharding::kReplicated, 1, training),
            (StateBytes{.parameters = 40, .gradients = 40, .optimizer = 80}));
  training.optimizer = OptimizerKind::kSgd;
  EXPECT_EQ(OptimizerBytes(training), 4);
}

// DeepSeek-V3: a master copy of 4 bytes, two moments of bf16.
TEST(StateMemoryTest, MomentsMayBeNarrow) {
  Training training;
  training.precision.moment_bytes = 2;
  EXPECT_EQ(OptimizerBytes(training), 4 + 2 + 2);
}

TEST(StateMemoryTest, OffloadedStatesAreInTheHost) {
  Plan plan = Replicated(4, Sharding::kOptimizer);
  plan.offload_optimizer = true;
  EXPECT_EQ(StatesOf({.dense = 100}, plan, Training{}),
            (StateBytes{.parameters = 200, .gradients = 400, .offloaded = 25 * 12}));
}

// 64 ranks, t = 2, e = 8: 32 replicas of dense parameters and 64/8 of experts.
TEST(StateMemoryTest, ExpertsAreShardedAmongTheirOwnReplicas) {
  Plan plan = Replicated(32, Sharding::kOptimizer);
  plan.tp = 2;
  plan.ep = 8;
  EXPECT_EQ(DenseReplicas(plan), 32);
  EXPECT_EQ(ExpertReplicas(plan), 8);
  const RankParameters on_rank = OnRank({.split = 1280, .whole = 64, .experts = 5120}, plan);
  EXPECT_EQ(on_rank, (RankParameters{.dense = 704, .experts = 640}));
  EXPECT_EQ(StatesOf(on_rank, plan, Training{}),
            (StateBytes{.parameters = 2 * (704 + 640),
                        .gradients = 4 * (704 + 640),
                        .optimizer = 12 * (704 / 32 + 640 / 8)}));
}

// 512 ranks hold dense parameters and 512·2/16 = 64 an expert; 32 share a copy, 32·2/16 = 4 of
// experts. Where the ranks of a copy are just those of an expert group, experts have no shards.
TEST(StateMemoryTest, ExpertsAreShardedInsideOfOneCopy) {
  Plan plan = Replicated(512, Sharding::kParameters);
  plan.tp = 2;
  plan.ep = 16;
  EXPECT_EQ(ExpertShards(plan), 64);
  plan.shard_ranks = 32;
  EXPECT_EQ(DenseShards(plan), 32);
  EXPECT_EQ(ExpertShards(plan), 4);
  EXPECT_EQ(StatesOf({.dense = 3200, .experts = 400}, plan, Training{}).optimizer,
            12 * (3200 / 32 + 400 / 4));
  plan.shard_ranks = 8;
  EXPECT_EQ(ExpertShards(plan), 1);
  EXPECT_EQ(ExpertReplicas(plan), 64);
}

// Copies that are not sharded have no shards to share.
TEST(StateMemoryTest, ReplicatedParametersHaveNoShardRanks) {
  Plan plan = Replicated(8, Sharding::kReplicated);
  plan.shard_ranks = 2;
  EXPECT_EQ(DenseShards(plan), 8);
}

// DualPipe has every layer on two devices.
TEST(StateMemoryTest, CopiesOfLayersAreReplicasToo) {
  Plan plan = Replicated(4, Sharding::kOptimizer);
  plan.pp = 8;
  plan.ep = 2;
  plan.schedule = PipelineSchedule::kDualPipe;
  EXPECT_EQ(DenseReplicas(plan), 8);
  EXPECT_EQ(ExpertReplicas(plan), 4);
  EXPECT_EQ(StatesOf({.dense = 80, .experts = 40}, plan, Training{}).optimizer,
            12 * (80 / 8 + 40 / 4));
}

// Resharded: a shard of everything. Kept behind the forward pass: whole parameters; along a
// pipeline whole gradients, too, as with ZeRO-1.
TEST(StateMemoryTest, ParametersThatStayGatheredAreWhole) {
  Plan plan = Replicated(4, Sharding::kParameters);
  const auto states = [&] { return StatesOf({.dense = 40}, plan, Training{}); };
  EXPECT_EQ(states(), (StateBytes{.parameters = 20, .gradients = 40, .optimizer = 120}));
  plan.reshard = Reshard::kDefault;
  EXPECT_EQ(states(), (StateBytes{.parameters = 20, .gradients = 40, .optimizer = 120}));
  plan.pp = 2;
  EXPECT_EQ(states(), (StateBytes{.parameters = 80, .gradients = 160, .optimizer = 120}));
  plan.pp = 1;
  plan.reshard = Reshard::kNever;
  EXPECT_EQ(states(), (StateBytes{.parameters = 80, .gradients = 40, .optimizer = 120}));
}

// A unit of Llama 3 8B.
TEST(StateMemoryTest, AGatheredUnitIsWhole) {
  EXPECT_EQ(GatheredBytes(218'112'000, Training{}), 436'224'000);
}

}  // namespace
}  // namespace orrery::workload
