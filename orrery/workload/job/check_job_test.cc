#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/hardware/cluster.h"
#include "orrery/hardware/gpu.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/model/models_test.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::workload {
namespace {

/// Llama-3 8B, tp 2, pp 2, dp 4 on two nodes: sound.
Job SoundJob() {
  Job job;
  job.model = {.name = "llama", .body = Llama3()};
  job.training = {.sequence = 8192, .micro_batch = 1, .global_batch = 32};
  job.plan = {.tp = 2, .pp = 2, .dp = 4};
  job.gpus = 16;
  job.cluster = *hardware::FindCluster("DGX H100");
  job.gpu = *hardware::FindGpu("H100");
  return job;
}

template <typename Change>
std::string ErrorAfter(Change change) {
  Job job = SoundJob();
  change(job);
  const Status status = CheckJob(job);
  return status ? "" : status.error().message();
}

TEST(CheckJob, PassesASoundJob) {
  EXPECT_EQ(ErrorAfter([](Job&) {}), "");
}

TEST(CheckJob, ThePlanMultipliesToTheGpus) {
  EXPECT_EQ(ErrorAfter([](Job& job) { job.gpus = 18; }),
            "plan.tp 2 · plan.pp 2 · plan.cp 1 = 4 does not divide gpus 18: change one of them");
  EXPECT_EQ(ErrorAfter([](Job& job) { job.plan.dp = 3; }),
            "plan.tp 2 · plan.pp 2 · plan.cp 1 · plan.dp 3 is not gpus 16: set plan.dp to 4");
  EXPECT_EQ(ErrorAfter([](Job& job) { job.plan.tp = 0; }),
            "plan.tp is 0: give 1 or more, up to 1000000");
}

TEST(CheckJob, HeadsAndWidthsDivide) {
  EXPECT_EQ(ErrorAfter([](Job& job) {
              job.plan = {.tp = 3, .dp = 5};
              job.gpus = 15;
            }),
            "training.global_batch 32 does not divide by training.micro_batch 1 · plan.dp 5: take "
            "a multiple of 5");
  EXPECT_EQ(ErrorAfter([](Job& job) {
              job.plan = {.tp = 3, .dp = 4};
              job.gpus = 12;
            }),
            "model.heads 32 does not divide by plan.tp 3: set plan.tp to a divisor of 32");
  EXPECT_EQ(ErrorAfter([](Job& job) {
              std::get<Transformer>(job.model.body).blocks[0].block.mlp = GatedSilu(1001);
            }),
            "the width model.ffn 1001 does not divide by plan.tp 2: set plan.tp to a divisor of "
            "1001");
}

TEST(CheckJob, TheClusterIsLargeEnough) {
  EXPECT_EQ(ErrorAfter([](Job& job) { job.cluster.nodes = 1; }),
            "gpus 16 is more than the 8 of DGX H100: take fewer, another cluster, or set "
            "cluster.nodes to 0 for any number");
  EXPECT_EQ(ErrorAfter([](Job& job) { job.cluster.nics = {}; }),
            "gpus 16 is more than the 8 of a node, and DGX H100 has no network: take fewer or "
            "another cluster");
}

TEST(CheckJob, TheBatchIsPossible) {
  EXPECT_EQ(ErrorAfter([](Job& job) { job.training.global_batch = 30; }),
            "training.global_batch 30 does not divide by training.micro_batch 1 · plan.dp 4: take "
            "a multiple of 4");
  EXPECT_EQ(ErrorAfter([](Job& job) { job.training.micro_batch = 0; }),
            "training.micro_batch must be at least 1");
  EXPECT_EQ(ErrorAfter([](Job& job) { job.training.sequence = 0; }),
            "training.sequence is missing: give the tokens of a sample");
}

TEST(CheckJob, TheScheduleCanRun) {
  EXPECT_EQ(ErrorAfter([](Job& job) {
              job.plan.schedule = PipelineSchedule::kInterleaved;
              job.plan.chunks = 5;
            }),
            "model.layers 32 does not divide by plan.pp 2 · plan.chunks 5, as plan.schedule "
            "interleaved needs: change plan.chunks or give plan.layers_per_stage");
  EXPECT_EQ(ErrorAfter([](Job& job) { job.plan.chunks = 2; }),
            "plan.chunks must be 1 for plan.schedule 1f1b, not 2; several chunks need interleaved");
  EXPECT_EQ(ErrorAfter([](Job& job) {
              job.plan.layers_per_stage = {10, 10};
            }),
            "plan.layers_per_stage adds up to 20 layers and the model has 32: change one number");
}

// 32 + 2 layers make 34 = 2 · 17 parts, as Megatron does when told to count the ends.
TEST(CheckJob, EndsMayCountAsLayers) {
  EXPECT_EQ(ErrorAfter([](Job& job) {
              job.plan.schedule = PipelineSchedule::kInterleaved;
              job.plan.chunks = 17;
            }),
            "");
}

TEST(CheckJob, ContextDivides) {
  EXPECT_EQ(ErrorAfter([](Job& job) {
              job.plan = {.tp = 2, .cp = 2, .dp = 4, .sequence_parallel = true};
              job.training.sequence = 8190;
            }),
            "training.sequence 8190 over plan.cp 2 does not divide by plan.tp 2, as "
            "plan.sequence_parallel needs: change one");
  EXPECT_EQ(ErrorAfter([](Job& job) {
              job.plan = {.tp = 8, .cp = 8, .dp = 1, .context = ContextKind::kUlysses};
              job.gpus = 64;
            }),
            "model.heads 32 does not divide by plan.tp 8 · plan.cp 8, as plan.context ulysses "
            "needs: lower plan.cp or take ring");
}

TEST(CheckJob, RanksThatDealHeadsDivide) {
  EXPECT_EQ(ErrorAfter([](Job& job) {
              job.plan = {.cp = 8, .context = ContextKind::kUlyssesRing, .ulysses_ranks = 3};
              job.gpus = 8;
            }),
            "plan.cp 8 does not divide by plan.ulysses_ranks 3: set plan.ulysses_ranks to a "
            "divisor of 8");
  EXPECT_EQ(ErrorAfter([](Job& job) {
              job.plan = {
                  .tp = 8, .cp = 8, .context = ContextKind::kUlyssesRing, .ulysses_ranks = 8};
              job.gpus = 64;
            }),
            "model.heads over plan.tp 4 does not divide by plan.ulysses_ranks 8: set "
            "plan.ulysses_ranks to a divisor of 4");
}

TEST(CheckJob, ExpertsDivide) {
  EXPECT_EQ(ErrorAfter([](Job& job) { job.plan.ep = 2; }),
            "plan.ep 2 needs a model with experts: set plan.ep to 1");
  EXPECT_EQ(ErrorAfter([](Job& job) { job.plan.expert_tp = 3; }),
            "plan.expert_tp 3 needs a model with experts: set plan.expert_tp to 1");
  EXPECT_EQ(ErrorAfter([](Job& job) {
              job.model.body = Mixtral();
              job.plan.ep = 3;
            }),
            "model.experts 8 does not divide by plan.ep 3: set plan.ep to a divisor of 8");
  EXPECT_EQ(ErrorAfter([](Job& job) {
              job.model.body = Mixtral();
              job.plan.ep = 8;
              job.plan.expert_tp = 2;
            }),
            "plan.ep 8 · plan.expert_tp 2 does not divide the 8 ranks of plan.dp · plan.cp · "
            "plan.tp: take a divisor");
}

TEST(CheckJob, ShardsDivide) {
  EXPECT_EQ(ErrorAfter([](Job& job) { job.plan.shard_ranks = 3; }),
            "plan.shard_ranks 3 does not divide the 4 ranks of plan.dp · plan.cp: take a divisor");
}

// Three ranks of a copy and two that share experts.
TEST(CheckJob, ExpertsAreShardedInsideOfOneCopy) {
  const auto error_of = [](int shard_ranks) {
    return ErrorAfter([shard_ranks](Job& job) {
      job.model.body = Mixtral();
      job.plan = {.dp = 12, .ep = 2, .sharding = Sharding::kParameters};
      job.plan.shard_ranks = shard_ranks;
      job.gpus = 12;
      job.training.global_batch = 12;
    });
  };
  EXPECT_EQ(error_of(3),
            "plan.shard_ranks · plan.tp = 3 and plan.ep · plan.expert_tp = 2 do not divide each "
            "other, so experts cannot be sharded like the rest: take another plan.shard_ranks");
  for (const int shard_ranks : {1, 2, 4, 6}) {
    EXPECT_EQ(error_of(shard_ranks), "");
  }
}

TEST(CheckJob, OtherModelsAreOnlyCopied) {
  EXPECT_EQ(ErrorAfter([](Job& job) { job.model.body = LayerList{}; }),
            "plan.tp 2 needs a transformer: set it to 1");
  const auto error_of = [](const Plan& plan) {
    return ErrorAfter([&](Job& job) {
      job.model.body = LayerList{};
      job.plan = plan;
      job.gpus = plan.dp;
    });
  };
  EXPECT_EQ(error_of({.dp = 8}), "");
  EXPECT_EQ(error_of({.dp = 8, .schedule = PipelineSchedule::kGpipe}), "");
  EXPECT_EQ(error_of({.dp = 8, .expert_tp = 2}),
            "plan.expert_tp 2 needs a transformer: set it to 1");
  EXPECT_EQ(error_of({.dp = 8, .schedule = PipelineSchedule::kInterleaved, .chunks = 2}),
            "plan.chunks 2 needs a transformer: set it to 1");
  EXPECT_EQ(error_of({.dp = 8, .schedule = PipelineSchedule::kZeroBubbleV}),
            "plan.schedule zb-v needs a transformer: set it to 1f1b");
  EXPECT_EQ(
      error_of({.dp = 8, .schedule = PipelineSchedule::kInterleaved}),
      "plan.chunks must be 2 or more for plan.schedule interleaved, not 1; one chunk is 1f1b");
  EXPECT_EQ(error_of({.dp = 8, .layers_per_stage = {1}}),
            "plan.layers_per_stage needs a transformer: leave it out");
}

TEST(CheckJob, NumbersArePossible) {
  EXPECT_EQ(ErrorAfter([](Job& job) { job.plan.recompute_share = std::nan(""); }),
            "plan.recompute_share is nan: give 0 to 1");
  EXPECT_EQ(ErrorAfter([](Job& job) { job.plan.token_imbalance = 0.5; }),
            "plan.token_imbalance is 0.5: give 1 or more, up to 1000000");
  EXPECT_EQ(ErrorAfter([](Job& job) { job.plan.capacity_factor = 1e300; }),
            "plan.capacity_factor is 1e+300: give 0 or more, up to 1000000");
  EXPECT_EQ(ErrorAfter([](Job& job) { job.gpus = 2'000'000'000; }),
            "gpus is 2000000000: give 1 or more, up to 1000000");
}

// 8 micro-batches of a replica, a sample of 10⁹ tokens, 32 layers, 128,256 words: 3.3e16 elements
// of activations; attention scores of a layer: (10⁹)² · 32 heads = 3.2e19.
TEST(CheckJob, ActivationsFit64Bits) {
  EXPECT_EQ(ErrorAfter([](Job& job) { job.training.sequence = 1'000'000'000; }),
            "training.global_batch 32 of training.sequence 1000000000 makes 3e+19 elements of "
            "activations, and 1e+17 is the limit: lower one of them");
  EXPECT_EQ(ErrorAfter([](Job& job) { job.training.sequence = 10'000'000; }), "");
}

TEST(CheckJob, AdaptersHaveARank) {
  EXPECT_EQ(ErrorAfter([](Job& job) { job.training.adapter_rank = 16; }), "");
  EXPECT_EQ(ErrorAfter([](Job& job) {
              job.training.adapter_rank = 16;
              job.plan.sharding = Sharding::kParameters;
            }),
            "");
  EXPECT_EQ(ErrorAfter([](Job& job) { job.training.adapter_rank = -1; }),
            "training.adapter_rank is -1: give 0 for none, or the rank");
}

TEST(CheckJob, FourBitsAreOfFrozenMatrices) {
  EXPECT_EQ(ErrorAfter([](Job& job) {
              job.training.adapter_rank = 16;
              job.training.base_format = BaseFormat::kNf4;
            }),
            "");
  EXPECT_EQ(ErrorAfter([](Job& job) { job.training.base_format = BaseFormat::kNf4; }),
            "training.base_format is for frozen matrices beside adapters, without experts: set "
            "training.adapter_rank, or base_format to same");
}

TEST(CheckJob, FrozenBlocksLeaveSomeToTrain) {
  EXPECT_EQ(ErrorAfter([](Job& job) { job.training.frozen_blocks = 1'000; }),
            "training.frozen_blocks is 1000: give less than the blocks of a transformer");
}

}  // namespace
}  // namespace orrery::workload
