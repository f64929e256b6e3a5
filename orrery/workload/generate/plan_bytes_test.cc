#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "orrery/base/collective_kind.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/generate/generate.h"
#include "orrery/workload/generate/jobs_test.h"
#include "orrery/workload/generate/layer_op.h"
#include "orrery/workload/generate/program_counts_test.h"
#include "orrery/workload/generate/small_jobs_test.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/plan/pipeline_schedule.h"
#include "orrery/workload/plan/plan.h"
#include "orrery/workload/program.h"

// The bytes of every dimension of parallelism against closed forms, for all schedules and
// shardings. The model: eight blocks of h = 1024, one sequence of s = 1024 a micro-batch, 16 heads,
// an embedding and a head of their own. All tensors are multiples of 128 elements, so that no
// bucket is padded.

namespace orrery::workload {
namespace {
using enum CollectiveKind;

constexpr std::int64_t kBlocks = 8;
constexpr std::int64_t kMicrobatches = 8;
// Of a block with experts: attention, two norms and a router; eight experts of two matrices.
constexpr std::int64_t kSparseBlock =
    4 * kHidden * kHidden + 4 * kHidden + 4 * kHidden + 8 * kHidden;
constexpr std::int64_t kExpertsOfBlock = 8 * 2 * kHidden * 4096;
constexpr std::int64_t kGradient = 4;   // bytes of a reduced gradient
constexpr std::int64_t kParameter = 2;  // of a gathered parameter

Job JobOfPlan(const Plan& plan, bool has_experts) {
  Transformer model = has_experts ? SmallMoe() : SmallGpt();
  model.blocks[0].count = kBlocks;
  return JobOf({.model = {"small", model}, .plan = plan, .microbatches = kMicrobatches});
}

std::string Described(const Plan& plan) {
  return fmt::format("{} chunks {}: tp {} pp {} cp {} dp {} ep {}, sharding {} over {}, reshard {}",
                     ScheduleName(plan.schedule), plan.chunks, plan.tp, plan.pp, plan.cp, plan.dp,
                     plan.ep, static_cast<int>(plan.sharding), plan.shard_ranks,
                     ReshardName(plan.reshard));
}

/// The layers of a device of the pipeline, and the number of passes of a micro-batch.
struct Held {
  std::int64_t blocks = 0;
  bool has_embedding = false;
  bool has_head = false;
  std::int64_t passes = kMicrobatches;

  [[nodiscard]] std::int64_t Dense(bool has_experts) const {
    return blocks * (has_experts ? kSparseBlock : kBlock) + (has_embedding ? kEmbedding : 0) +
           (has_head ? kHead : 0);
  }
};

// One part of p; in turn or in a V two of 2p; in DualPipe two of p, each of which has half of the
// micro-batches.
Held HeldBy(const Plan& plan, int stage) {
  const int p = plan.pp;
  switch (plan.schedule) {
    case PipelineSchedule::kInterleaved:
      return {kBlocks / p, stage == 0, stage == p - 1};
    case PipelineSchedule::kZeroBubbleV:
      return {kBlocks / p, stage == 0, stage == 0};
    case PipelineSchedule::kDualPipe: {
      const bool is_end = stage == 0 || stage == p - 1;
      return {2 * kBlocks / p, is_end, is_end, kMicrobatches / 2};
    }
    default:
      return {kBlocks / p, stage == 0, stage == p - 1};
  }
}

std::int64_t Bytes(const Program& program, GroupRole role,
                   std::optional<CollectiveKind> kind = {}) {
  return Count(program, {role, kind}).bytes;
}

std::size_t GroupSize(const GeneratedJob& job, Rank rank, GroupRole role) {
  const GroupId group = job.ensemble.GroupOf(rank, static_cast<std::uint32_t>(role));
  return group == kNoGroup ? 1 : job.ensemble.Members(group).size();
}

constexpr std::array kSchedules{PipelineSchedule::kGpipe,        PipelineSchedule::k1f1b,
                                PipelineSchedule::kInterleaved,  PipelineSchedule::kZeroBubbleH1,
                                PipelineSchedule::kZeroBubble2p, PipelineSchedule::kZeroBubbleV,
                                PipelineSchedule::kDualPipe};

/// Every schedule on four devices, and one device alone.
std::vector<Plan> Pipelines() {
  std::vector<Plan> plans{Plan{}};
  for (const PipelineSchedule schedule : kSchedules) {
    Plan plan{.pp = 4, .schedule = schedule};
    plan.chunks = schedule == PipelineSchedule::kInterleaved ? 2 : 1;
    plans.push_back(plan);
  }
  return plans;
}

/// Every sharding, over all replicas and over four of eight or sixteen.
std::vector<Plan> Shardings(Plan plan) {
  std::vector<Plan> plans;
  for (const Sharding sharding : {Sharding::kReplicated, Sharding::kOptimizer, Sharding::kGradients,
                                  Sharding::kParameters, Sharding::kKeepGathered}) {
    for (const Reshard reshard : {Reshard::kAlways, Reshard::kNever, Reshard::kDefault}) {
      if (reshard != Reshard::kAlways && sharding != Sharding::kParameters) {
        continue;  // the others do not ask
      }
      for (const int shard_ranks : {0, 4}) {
        plan.sharding = sharding;
        plan.reshard = reshard;
        plan.shard_ranks = shard_ranks;
        plans.push_back(plan);
      }
    }
  }
  return plans;
}

/// Bytes that data-parallel ranks send for a part of the parameters that some ranks hold alike.
struct DataBytes {
  std::int64_t all_reduced = 0;
  std::int64_t scattered = 0;
  std::int64_t gathered = 0;
  std::int64_t summed = 0;  // over copies of shards

  bool operator==(const DataBytes&) const = default;
};

/// n parameters of a stage that d ranks hold, of which s share one copy, and m passes. `head`:
/// those of the last unit of the model, which is needed again immediately.
///
/// DDP: all-reduce of g·n. ZeRO-1: reduce-scatter of g·n, all-gather of 2·n. ZeRO-2: every
/// micro-batch is reduced, m·g·n. ZeRO-3: m·2·(2·n − head) are gathered, forward and backward.
/// FSDP that keeps parameters behind the forward pass: m·2·n; along a pipeline they stay through
/// the step, and gradients accumulate: 2·n and g·n. HSDP sums each reduced shard, 1/s of it, over
/// d/s ranks; without copies to share (s = 1), that is all.
DataBytes Expected(const Plan& plan, std::int64_t n, std::int64_t head, std::int64_t m, int d,
                   int s) {
  if (d == 1) {
    return {};
  }
  const bool keeps = plan.sharding == Sharding::kKeepGathered || plan.reshard == Reshard::kNever ||
                     (plan.reshard == Reshard::kDefault && plan.pp > 1);
  DataBytes bytes;
  switch (plan.sharding) {
    case Sharding::kReplicated:
      return {.all_reduced = kGradient * n};
    case Sharding::kOptimizer:
      bytes = {.scattered = kGradient * n, .gathered = kParameter * n};
      break;
    case Sharding::kGradients:
      bytes = {.scattered = m * kGradient * n, .gathered = kParameter * n};
      break;
    case Sharding::kParameters:
    case Sharding::kKeepGathered: {
      const std::int64_t times = keeps && plan.pp > 1 ? 1 : m;
      bytes = {.scattered = times * kGradient * n,
               .gathered = times * kParameter * (keeps ? n : 2 * n - head)};
    }
  }
  bytes.summed = s < d ? bytes.scattered / s : 0;
  if (s == 1) {
    return {.summed = bytes.summed};
  }
  return bytes;
}

DataBytes Sent(const Program& program, GroupRole role, GroupRole replicas) {
  return {.all_reduced = Bytes(program, role, kAllReduce),
          .scattered = Bytes(program, role, kReduceScatter),
          .gathered = Bytes(program, role, kAllGather),
          .summed = Bytes(program, replicas, kAllReduce)};
}

void ExpectDataBytes(const Plan& plan, bool has_experts) {
  const Job job = JobOfPlan(plan, has_experts);
  const Status checked = CheckJob(job);
  ASSERT_TRUE(checked.has_value()) << checked.error().message();
  const GeneratedJob generated = Generated(job);
  const bool is_hybrid = plan.shard_ranks > 0 && plan.sharding != Sharding::kReplicated;
  const int copies = plan.schedule == PipelineSchedule::kDualPipe ? 2 : 1;
  const int dense = copies * plan.dp * plan.cp;
  const int experts = dense * plan.tp / plan.ep;
  const int dense_shards = is_hybrid ? plan.shard_ranks : dense;
  const int expert_shards = is_hybrid ? plan.shard_ranks * plan.tp / plan.ep : experts;
  EXPECT_EQ(GroupSize(generated, 0, GroupRole::kData), dense_shards);
  EXPECT_EQ(GroupSize(generated, 0, GroupRole::kReplicas), dense / dense_shards);
  for (int stage = 0; stage < plan.pp; ++stage) {
    const Program& program = generated.ensemble.programs[static_cast<std::size_t>(stage)];
    const Held held = HeldBy(plan, stage);
    EXPECT_TRUE(Sent(program, GroupRole::kData, GroupRole::kReplicas) ==
                Expected(plan, held.Dense(has_experts), held.has_head ? kHead : 0, held.passes,
                         dense, dense_shards))
        << Described(plan) << ", dense, stage " << stage;
    if (has_experts) {
      EXPECT_EQ(GroupSize(generated, 0, GroupRole::kExpertData), expert_shards);
      EXPECT_EQ(GroupSize(generated, 0, GroupRole::kExpertReplicas), experts / expert_shards);
      EXPECT_TRUE(Sent(program, GroupRole::kExpertData, GroupRole::kExpertReplicas) ==
                  Expected(plan, held.blocks * kExpertsOfBlock / plan.ep, 0, held.passes, experts,
                           expert_shards))
          << Described(plan) << ", experts, stage " << stage;
    }
  }
}

TEST(PlanBytesTest, DataParallelRanksSendWhatTheirShardingSays) {
  for (Plan pipeline : Pipelines()) {
    for (const int cp : {1, 2}) {
      pipeline.cp = cp;
      pipeline.dp = 8 / cp;
      for (const Plan& plan : Shardings(pipeline)) {
        ExpectDataBytes(plan, false);
      }
    }
  }
}

// Experts: over d·c·t/e ranks, of which s·t/e share one copy.
TEST(PlanBytesTest, ExpertsAreReducedOverTheRanksThatHoldThem) {
  for (Plan pipeline : Pipelines()) {
    pipeline.dp = 8;
    for (const int ep : {1, 2, 4}) {
      pipeline.ep = ep;
      for (const Plan& plan : Shardings(pipeline)) {
        ExpectDataBytes(plan, true);
      }
    }
  }
}

// The same bytes however gradients and communication overlap.
TEST(PlanBytesTest, OverlapChangesNoBytes) {
  for (const Plan& pipeline : {Plan{.dp = 8}, Plan{.pp = 4, .dp = 4}}) {
    for (const Plan& plan : Shardings(pipeline)) {
      std::vector<DataBytes> sent;
      for (const DataOverlap overlap : {DataOverlap::kAfterBackward, DataOverlap::kBuckets}) {
        Job job = JobOfPlan(plan, false);
        job.framework.data_overlap = overlap;
        sent.push_back(Sent(FirstProgram(job), GroupRole::kData, GroupRole::kReplicas));
      }
      EXPECT_TRUE(sent[0] == sent[1]) << Described(plan);
    }
  }
}

// Shards of all ranks are ZeRO-3: HSDP with one copy is no HSDP.
TEST(PlanBytesTest, HybridShardsOfAllRanksAreThoseOfZero3) {
  for (const bool has_experts : {false, true}) {
    Plan plan{.dp = 8, .ep = has_experts ? 2 : 1, .sharding = Sharding::kParameters};
    const Program whole = FirstProgram(JobOfPlan(plan, has_experts));
    plan.shard_ranks = 8;
    const Program hybrid = FirstProgram(JobOfPlan(plan, has_experts));
    for (const GroupRole role : {GroupRole::kData, GroupRole::kReplicas, GroupRole::kExpertData,
                                 GroupRole::kExpertReplicas}) {
      EXPECT_EQ(Count(hybrid, {role}), Count(whole, {role}));
    }
  }
}

// DualPipe: the devices i and p − 1 − i hold the same layers, so that their ranks are one group.
TEST(PlanBytesTest, MirroredDevicesOfDualPipeSumTheirGradients) {
  const Plan plan{.pp = 4, .dp = 2, .schedule = PipelineSchedule::kDualPipe};
  const GeneratedJob job = Generated(JobOfPlan(plan, false));
  const auto members = [&](Rank rank) {
    const auto group = job.ensemble.GroupOf(rank, static_cast<std::uint32_t>(GroupRole::kData));
    const auto span = job.ensemble.Members(group);
    return std::vector<Rank>(span.begin(), span.end());
  };
  EXPECT_EQ(members(0), (std::vector<Rank>{0, 1, 6, 7}));
  EXPECT_EQ(members(7), members(0));
  EXPECT_EQ(members(2), (std::vector<Rank>{2, 3, 4, 5}));
}

// A micro-batch crosses each boundary between devices once in each direction with b·(s/c)·h·2
// bytes, divided by t with sequence parallelism. Boundaries: p − 1; interleaved p·v − 1, of which
// some lead from the last device to the first; in a V 2·(p − 1), since it turns without a message.
TEST(PlanBytesTest, PipelinesSendEachBoundaryOnceInEachDirection) {
  for (Plan plan : Pipelines()) {
    for (const bool is_cut : {false, true}) {
      plan.tp = is_cut ? 2 : 1;
      plan.sequence_parallel = is_cut;
      plan.cp = is_cut ? 2 : 1;
      std::int64_t forward = 0;
      std::int64_t backward = 0;
      const GeneratedJob generated = Generated(JobOfPlan(plan, false));
      for (const Program& program : generated.ensemble.programs) {
        forward += Bytes(program, GroupRole::kNextForwardOut) +
                   Bytes(program, GroupRole::kPreviousForwardOut);
        backward += Bytes(program, GroupRole::kNextBackwardOut) +
                    Bytes(program, GroupRole::kPreviousBackwardOut);
      }
      const std::int64_t boundaries =
          plan.schedule == PipelineSchedule::kInterleaved   ? plan.pp * 2 - 1
          : plan.schedule == PipelineSchedule::kZeroBubbleV ? 2 * (plan.pp - 1)
                                                            : plan.pp - 1;
      const std::int64_t bytes = boundaries * kMicrobatches * kX / (is_cut ? 4 : 1);
      EXPECT_EQ(forward, bytes) << Described(plan);
      EXPECT_EQ(backward, bytes) << Described(plan);
    }
  }
}

// X = b·(s/c)·h·2. Two sums of X a layer and pass, one for the embedding forward and one for the
// head backward, and three all-reduces of 4·b·s/c for the loss. With sequence parallelism each sum
// is a gather and a scatter, and inputs of columns are gathered again backward. Full recomputation
// repeats the forward pass of blocks.
TEST(PlanBytesTest, TensorParallelRanksSumTwiceALayerAndPass) {
  for (Plan plan : Pipelines()) {
    for (const bool by_sequence : {false, true}) {
      for (const Recompute recompute : {Recompute::kNothing, Recompute::kFull}) {
        plan.tp = 2;
        plan.sequence_parallel = by_sequence;
        plan.recompute = recompute;
        const GeneratedJob generated = Generated(JobOfPlan(plan, false));
        for (int stage = 0; stage < plan.pp; ++stage) {
          const Held held = HeldBy(plan, stage);
          const std::int64_t again = recompute == Recompute::kFull ? 2 * held.blocks : 0;
          const std::int64_t ends = (held.has_embedding ? 1 : 0) + (held.has_head ? 1 : 0);
          const std::int64_t sums = 4 * held.blocks + ends + again;
          const std::int64_t saved = 2 * held.blocks + (held.has_head ? 1 : 0);
          const std::int64_t loss = held.has_head ? 3 * 4 * 1024 : 0;
          const Program& program = generated.ensemble.programs[static_cast<std::size_t>(stage)];
          EXPECT_EQ(Bytes(program, GroupRole::kTensor, kAllReduce),
                    held.passes * (loss + (by_sequence ? 0 : sums * kX)))
              << Described(plan) << ", stage " << stage;
          EXPECT_EQ(Bytes(program, GroupRole::kTensor, kReduceScatter),
                    by_sequence ? held.passes * sums * kX : 0)
              << Described(plan) << ", stage " << stage;
          EXPECT_EQ(Bytes(program, GroupRole::kTensor, kAllGather),
                    by_sequence ? held.passes * (sums + saved) * kX : 0)
              << Described(plan) << ", stage " << stage;
        }
      }
    }
  }
}

// B = 2·b·(s/c)·h·2 bytes of keys and values of a rank. Ring: c − 1 times B forward, 2·(c − 1) + 1
// backward, with gradients. All-gather: c·B forward, c·B again backward, and c·B of gradients
// scattered. Ulysses: Q, K, V and the output, 4·X, each way.
TEST(PlanBytesTest, ContextParallelRanksPassGatherOrDeal) {
  struct Kind {
    ContextKind kind;
    std::int64_t forward, backward;  // in B of c = 4
  };

  for (Plan plan : Pipelines()) {
    plan.cp = 4;
    const std::int64_t unit = 2 * kX / 4;
    for (const Kind& kind : {Kind{ContextKind::kRing, 3, 7}, Kind{ContextKind::kAllGather, 4, 8},
                             Kind{ContextKind::kUlysses, 2, 2}}) {
      for (const Recompute recompute : {Recompute::kNothing, Recompute::kFull}) {
        plan.context = kind.kind;
        plan.recompute = recompute;
        const GeneratedJob generated = Generated(JobOfPlan(plan, false));
        for (int stage = 0; stage < plan.pp; ++stage) {
          const Held held = HeldBy(plan, stage);
          const std::int64_t times =
              kind.forward * (recompute == Recompute::kFull ? 2 : 1) + kind.backward;
          EXPECT_EQ(Bytes(generated.ensemble.programs[static_cast<std::size_t>(stage)],
                          GroupRole::kContext),
                    held.passes * held.blocks * times * unit)
              << Described(plan) << ", stage " << stage;
        }
      }
    }
  }
}

// Dispatch and combine, forward and backward: 4·T·k·h·2 a layer with experts, T = b·s/(c·t) with
// sequence parallelism.
TEST(PlanBytesTest, ExpertParallelRanksSendTokensFourTimesALayer) {
  for (Plan plan : Pipelines()) {
    plan.dp = 4;
    plan.ep = 4;
    for (const Recompute recompute : {Recompute::kNothing, Recompute::kFull}) {
      plan.recompute = recompute;
      const GeneratedJob generated = Generated(JobOfPlan(plan, true));
      for (int stage = 0; stage < plan.pp; ++stage) {
        const Held held = HeldBy(plan, stage);
        const std::int64_t times = recompute == Recompute::kFull ? 6 : 4;
        EXPECT_EQ(Bytes(generated.ensemble.programs[static_cast<std::size_t>(stage)],
                        GroupRole::kExperts, kAllToAll),
                  held.passes * held.blocks * times * 2 * kX)
            << Described(plan) << ", stage " << stage;
      }
    }
  }
}

}  // namespace
}  // namespace orrery::workload
