#include "orrery/workload/generate/generate.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/base/collective_kind.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/generate/jobs_test.h"
#include "orrery/workload/generate/layer_op.h"
#include "orrery/workload/generate/program_counts_test.h"
#include "orrery/workload/generate/small_jobs_test.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/model/models_test.h"
#include "orrery/workload/plan/plan.h"
#include "orrery/workload/program.h"

// Messages and bytes of every dimension of parallelism against counts by hand.

namespace orrery::workload {
namespace {
using enum CollectiveKind;

// Section 4: two all-reduces of X a layer and pass, one of the embedding forward, one of the head
// backward; three of 4·b·s bytes for the loss.
TEST(GenerateTest, TensorParallelismSumsFourTimesALayer) {
  Plan plan;
  plan.tp = 4;
  const Program program = FirstProgram(SmallJob(plan, 3));
  EXPECT_EQ(Count(program, {GroupRole::kTensor, kAllReduce, "sum"}), Times(3 * 2 * kLayers, kX));
  EXPECT_EQ(Count(program, {GroupRole::kTensor, kAllReduce, "sum gradient"}),
            Times(3 * (2 * kLayers + 1), kX));
  EXPECT_EQ(Count(program, {GroupRole::kTensor, kAllReduce, "sum embedding"}), Times(3, kX));
  EXPECT_EQ(Count(program, {GroupRole::kTensor, kAllReduce, "sum of loss"}), Times(9, 4 * 1024));
  EXPECT_EQ(Count(program, {GroupRole::kTensor}).messages, 3 * (4 * kLayers + 2 + 3));
}

// Full recomputation repeats the two of the forward pass: six a layer.
TEST(GenerateTest, FullRecomputationSumsSixTimesALayer) {
  Plan plan;
  plan.tp = 4;
  plan.recompute = Recompute::kFull;
  const Program program = FirstProgram(SmallJob(plan));
  EXPECT_EQ(Count(program, {GroupRole::kTensor, kAllReduce, "sum"}), Times(4 * kLayers, kX));
  EXPECT_EQ(Count(program, {GroupRole::kTensor, kAllReduce, "sum gradient"}),
            Times(2 * kLayers + 1, kX));
}

// With sequence parallelism every sum is a gather and a scatter with X on the whole side, and the
// backward pass gathers the saved input of each of the two products whose columns are cut; the head
// gathers forward, scatters backward and gathers its saved input.
TEST(GenerateTest, SequenceParallelismGathersAndScatters) {
  Plan plan;
  plan.tp = 4;
  plan.sequence_parallel = true;
  const Program program = FirstProgram(SmallJob(plan));
  EXPECT_EQ(Count(program, {GroupRole::kTensor, kAllGather, "gather sequence"}),
            Times(2 * kLayers + 1, kX));
  EXPECT_EQ(Count(program, {GroupRole::kTensor, kReduceScatter, "scatter sum"}),
            Times(2 * kLayers, kX));
  EXPECT_EQ(Count(program, {GroupRole::kTensor, kAllGather, "gather gradient"}),
            Times(2 * kLayers + 1, kX));
  EXPECT_EQ(Count(program, {GroupRole::kTensor, kReduceScatter, "scatter gradient"}),
            Times(2 * kLayers + 1, kX));
  EXPECT_EQ(Count(program, {GroupRole::kTensor, kAllGather, "gather saved input"}),
            Times(2 * kLayers + 1, kX));
  Job keeps = SmallJob(plan);
  keeps.framework.keeps_gathered_inputs = true;
  EXPECT_EQ(Count(FirstProgram(keeps), {GroupRole::kTensor, kAllGather, "gather saved input"}),
            Times(0, 0));
}

// With user buffers a gather is one communication that the GEMM after it does not wait for, and of
// a sum a quarter is left when its GEMM has ended.
TEST(GenerateTest, UserBuffersHideCommunicationBesideItsGemm) {
  Plan plan;
  plan.tp = 4;
  plan.sequence_parallel = true;
  Job job = SmallJob(plan);
  job.framework.tensor_overlap = TensorOverlap::kPipelined;
  const Program program = FirstProgram(job);
  EXPECT_EQ(Count(program, {GroupRole::kTensor, kAllGather, "gather sequence"}),
            Times(2 * kLayers + 1, kX));
  const auto scatters = Count(program, {GroupRole::kTensor, kReduceScatter, "scatter sum"});
  EXPECT_EQ(scatters.messages, 2 * (2 * kLayers));
  EXPECT_EQ(scatters.bytes, 2 * kLayers * kX);
  // No copy engine waits for a multiprocessor, and none is held.
  for (TaskId task = 0; task < program.tasks.size(); ++task) {
    if (program.strings.View(program.tasks.name[task]) == "gather sequence") {
      EXPECT_EQ(program.parts.sm_share[program.tasks.part[task]], 0);
    }
  }
}

// Without sequence parallelism there is nothing to send in pieces.
TEST(GenerateTest, SumsOfWholeTensorsAreNotHidden) {
  Plan plan;
  plan.tp = 4;
  Job job = SmallJob(plan);
  job.framework.tensor_overlap = TensorOverlap::kPipelined;
  EXPECT_EQ(Count(FirstProgram(job), {GroupRole::kTensor, kAllReduce, "sum"}),
            Times(2 * kLayers, kX));
}

// Each kernel is followed by a wait of the host, beside the one at the end of the step.
TEST(GenerateTest, BlockingLaunchesWaitForEachKernel) {
  Job job = SmallJob({});
  const auto waits = [&] {
    const Program program = FirstProgram(job);
    return std::ranges::count(program.tasks.kind, TaskKind::kSynchronize);
  };
  const auto kernels = [&] {
    const Program program = FirstProgram(job);
    std::ptrdiff_t launched = 0;
    for (TaskId task = 0; task < program.tasks.size(); ++task) {
      launched +=
          program.tasks.kind[task] == TaskKind::kKernel && program.tasks.launch[task] != kNone;
    }
    return launched;
  };
  const auto before = waits();
  job.framework.launch_blocking = true;
  EXPECT_EQ(waits(), before + kernels());
}

// TV4: GPT-175B with t = 8: 50,331,648 B an all-reduce.
TEST(GenerateTest, TheSumOfGpt175bIsAsPublished) {
  Plan plan;
  plan.tp = 8;
  const Job job = JobOf({.model = {"gpt", Gpt({.hidden = 12288,
                                               .layers = 1,
                                               .heads = 96,
                                               .vocabulary = 51200,
                                               .positions = 2048})},
                         .plan = plan,
                         .sequence = 2048});
  EXPECT_EQ(Count(FirstProgram(job), {GroupRole::kTensor, kAllReduce, "sum"}),
            Times(2, 50'331'648));
}

// Section 5: a message forward and one backward for each boundary and micro-batch.
TEST(GenerateTest, StagesSendOneMessageForwardAndOneBackward) {
  Plan plan;
  plan.pp = 2;
  for (const auto schedule :
       {PipelineSchedule::kGpipe, PipelineSchedule::k1f1b, PipelineSchedule::kZeroBubbleH1}) {
    plan.schedule = schedule;
    const GeneratedJob generated = Generated(SmallJob(plan, 6));
    const auto& programs = generated.ensemble.programs;
    EXPECT_EQ(Count(programs[0], {GroupRole::kNextForwardOut, kSendRecv}), Times(6, kX));
    EXPECT_EQ(Count(programs[1], {GroupRole::kPreviousForwardIn, kSendRecv}), Times(6, kX));
    EXPECT_EQ(Count(programs[1], {GroupRole::kPreviousBackwardOut, kSendRecv}), Times(6, kX));
    EXPECT_EQ(Count(programs[0], {GroupRole::kNextBackwardIn, kSendRecv}), Times(6, kX));
    EXPECT_EQ(Count(programs[0], {GroupRole::kPreviousForwardIn}).messages, 0);
    EXPECT_EQ(Count(programs[1], {GroupRole::kNextForwardOut}).messages, 0);
  }
}

// The second forward pass of the last stage: its input is received when the first one has ended,
// while the backward pass between them runs.
TEST(GenerateTest, ReceivesArePostedAPassAhead) {
  Plan plan;
  plan.pp = 2;
  plan.schedule = PipelineSchedule::k1f1b;
  Job job = SmallJob(plan, 4);
  job.framework.overlaps_pipeline_sends = true;
  const GeneratedJob generated = Generated(job);
  const Program& last = generated.ensemble.programs[1];
  std::vector<TaskId> receives;
  for (TaskId task = 0; task < last.tasks.size(); ++task) {
    if (last.strings.View(last.tasks.name[task]) == "receive") {
      receives.push_back(task);
    }
  }
  ASSERT_EQ(receives.size(), 4);
  const auto waits_for = [&](TaskId receive) {
    for (std::size_t edge = 0; edge < last.edges.size(); ++edge) {
      if (last.edges.to[edge] == receive) {
        return last.edges.from[edge];
      }
    }
    return kNone;
  };
  EXPECT_EQ(waits_for(receives[0]), kNone);
  const TaskId before = waits_for(receives[1]);
  ASSERT_NE(before, kNone);
  EXPECT_EQ(last.parts.phase[last.tasks.part[before]], Phase::kForward);
  EXPECT_EQ(last.tasks.microbatch[before], 0);
}

// Interleaved: v messages a micro-batch over each boundary, and v − 1 from the last device back to
// the first.
TEST(GenerateTest, InterleavedStagesSendForEachChunkAndAroundTheRing) {
  Plan plan;
  plan.pp = 2;
  plan.schedule = PipelineSchedule::kInterleaved;
  plan.chunks = 2;
  Transformer model = SmallGpt();
  model.blocks[0].count = 4;
  const GeneratedJob generated =
      Generated(JobOf({.model = {"small", model}, .plan = plan, .microbatches = 4}));
  const auto& programs = generated.ensemble.programs;
  EXPECT_EQ(Count(programs[0], {GroupRole::kNextForwardOut}), Times(2 * 4, kX));
  EXPECT_EQ(Count(programs[1], {GroupRole::kNextForwardOut}), Times(1 * 4, kX));
  EXPECT_EQ(Count(programs[0], {GroupRole::kPreviousForwardIn}), Times(1 * 4, kX));
  EXPECT_EQ(Count(programs[1], {GroupRole::kPreviousBackwardOut}), Times(2 * 4, kX));
  EXPECT_EQ(Count(programs[0], {GroupRole::kPreviousBackwardOut}), Times(1 * 4, kX));
}

// V-shaped: the chain turns round on the last device without a message, two and two over every
// boundary.
TEST(GenerateTest, AVTurnsRoundWithoutAMessage) {
  Plan plan;
  plan.pp = 2;
  plan.schedule = PipelineSchedule::kZeroBubbleV;
  Transformer model = SmallGpt();
  model.blocks[0].count = 4;
  const GeneratedJob generated =
      Generated(JobOf({.model = {"small", model}, .plan = plan, .microbatches = 4}));
  const auto& programs = generated.ensemble.programs;
  EXPECT_EQ(Count(programs[0], {GroupRole::kNextForwardOut}), Times(4, kX));
  EXPECT_EQ(Count(programs[0], {GroupRole::kNextForwardIn}), Times(4, kX));
  EXPECT_EQ(Count(programs[0], {GroupRole::kNextBackwardOut}), Times(4, kX));
  EXPECT_EQ(Count(programs[0], {GroupRole::kNextBackwardIn}), Times(4, kX));
}

// Sequence parallelism divides messages between stages by t; context parallelism by c.
TEST(GenerateTest, MessagesAreDividedBySequenceAndContextParallelism) {
  Plan plan;
  plan.pp = 2;
  plan.tp = 4;
  EXPECT_EQ(Count(FirstProgram(SmallJob(plan)), {GroupRole::kNextForwardOut}), Times(1, kX));
  plan.sequence_parallel = true;
  EXPECT_EQ(Count(FirstProgram(SmallJob(plan)), {GroupRole::kNextForwardOut}), Times(1, kX / 4));
  plan.tp = 1;
  plan.sequence_parallel = false;
  plan.cp = 2;
  EXPECT_EQ(Count(FirstProgram(SmallJob(plan)), {GroupRole::kNextForwardOut}), Times(1, kX / 2));
}

// A tied embedding is summed once a step between the first and the last stage: V·h/t gradients of
// 4 bytes.
TEST(GenerateTest, ATiedEmbeddingIsSummedOnceAStep) {
  Plan plan;
  plan.pp = 2;
  plan.tp = 2;
  Transformer model = SmallGpt();
  model.is_tied = true;
  const GeneratedJob tied =
      Generated(JobOf({.model = {"small", model}, .plan = plan, .microbatches = 4}));
  for (const Program& program : tied.ensemble.programs) {
    EXPECT_EQ(Count(program, {GroupRole::kTied, kAllReduce}),
              Times(1, kVocabulary * kHidden / 2 * 4));
  }
  EXPECT_EQ(Count(FirstProgram(SmallJob(plan)), {GroupRole::kTied}).messages, 0);
}

// Section 6.3: DDP sums 4·N once a step, however many micro-batches it has.
TEST(GenerateTest, DataParallelismSumsAllGradientsOnce) {
  Plan plan;
  plan.dp = 8;
  for (const auto overlap : {DataOverlap::kAfterBackward, DataOverlap::kBuckets}) {
    Job job = SmallJob(plan, 4);
    job.framework.data_overlap = overlap;
    const Program program = FirstProgram(job);
    EXPECT_EQ(Count(program, {GroupRole::kData, kAllReduce}).bytes, 4 * kParameters);
    EXPECT_EQ(Count(program, {GroupRole::kData, kAllGather}).messages, 0);
  }
}

// ZeRO-1 and -2: reduce-scatter of 4·N, all-gather of 2·N. ZeRO-2 has no room for whole gradients
// between micro-batches: those of four are reduced one by one, layer by layer. Megatron pads
// buckets for the shards; one bucket here: to a multiple of lcm(8, 128) at most, and each tensor
// to 64.
TEST(GenerateTest, ShardedOptimizersScatterGradientsAndGatherParameters) {
  Plan plan;
  plan.dp = 8;
  for (const auto sharding : {Sharding::kOptimizer, Sharding::kGradients}) {
    plan.sharding = sharding;
    const bool is_zero2 = sharding == Sharding::kGradients;
    const int times = is_zero2 ? 4 : 1;
    for (const bool gathers_in_forward : {false, true}) {
      Job job = SmallJob(plan, 4);
      job.framework.bucket_bytes = 0;
      job.framework.gathers_in_forward = gathers_in_forward;
      const Program program = FirstProgram(job);
      const CommunicationCount reduced = Count(program, {GroupRole::kData, kReduceScatter});
      const CommunicationCount gathered = Count(program, {GroupRole::kData, kAllGather});
      EXPECT_EQ(reduced.messages, is_zero2 ? times * (kLayers + 2) : 1);
      EXPECT_GE(reduced.bytes, std::int64_t{4} * times * kParameters);
      EXPECT_LT(reduced.bytes, std::int64_t{4} * times * (kParameters + 128 + 64 * 64));
      EXPECT_GE(gathered.bytes, reduced.bytes / 2 / times);
      EXPECT_LT(gathered.bytes, std::int64_t{2} * (kParameters + 128 + 64 * 64));
    }
  }
}

// FSDP: a micro-batch gathers every unit forward and again backward, but for the last one, which
// stays: 2·2·N − 2·head; and scatters 4·N.
TEST(GenerateTest, FullyShardedParametersAreGatheredTwiceAMicrobatch) {
  Plan plan;
  plan.dp = 8;
  plan.sharding = Sharding::kParameters;
  const Program program = FirstProgram(SmallJob(plan, 3));
  EXPECT_EQ(Count(program, {GroupRole::kData, kAllGather}),
            (CommunicationCount{3 * (2 * (kLayers + 2) - 1), 3 * 2 * (2 * kParameters - kHead)}));
  EXPECT_EQ(Count(program, {GroupRole::kData, kReduceScatter}),
            (CommunicationCount{3 * (kLayers + 2), 3 * 4 * kParameters}));
  plan.sharding = Sharding::kKeepGathered;
  EXPECT_EQ(Count(FirstProgram(SmallJob(plan)), {GroupRole::kData, kAllGather}),
            (CommunicationCount{kLayers + 2, 2 * kParameters}));
}

// HSDP, d = 8 as 4 · 2: FSDP inside 4, then an all-reduce of shards over 2.
TEST(GenerateTest, HybridShardsAreSummedOverTheirCopies) {
  Plan plan;
  plan.dp = 8;
  plan.sharding = Sharding::kParameters;
  plan.shard_ranks = 4;
  const Program program = FirstProgram(SmallJob(plan));
  EXPECT_EQ(Count(program, {GroupRole::kData, kReduceScatter}).bytes, 4 * kParameters);
  EXPECT_EQ(Count(program, {GroupRole::kReplicas, kAllReduce}).messages, kLayers + 2);
  EXPECT_EQ(Count(program, {GroupRole::kReplicas, kAllReduce}).bytes, kParameters);
}

// Section 7: dispatch and combine send T·k·h·2 bytes each, forward and backward. Experts' gradients
// are summed over d/e ranks, all else over d.
TEST(GenerateTest, ExpertsExchangeTokensFourTimesALayer) {
  Plan plan;
  plan.dp = 8;
  plan.ep = 4;
  const Job job = JobOf({.model = {"moe", SmallMoe()}, .plan = plan, .microbatches = 2});
  const Program program = FirstProgram(job);
  EXPECT_EQ(Count(program, {GroupRole::kExperts, kAllToAll}),
            Times(2 * 4 * kLayers, 1024 * 2 * kHidden * 2));
  const std::int64_t experts = kLayers * 8 * 2 * kHidden * 4096 / 4;
  EXPECT_EQ(Count(program, {GroupRole::kExpertData, kAllReduce}).bytes, 4 * experts);
  const std::int64_t dense =
      kEmbedding + kHead +
      kLayers * (4 * kHidden * kHidden + 4 * kHidden + 4 * kHidden + 8 * kHidden);
  EXPECT_EQ(Count(program, {GroupRole::kData, kAllReduce}).bytes, 4 * dense);
}

// The all-gather dispatcher moves all tokens of e ranks: T·e·h, back as a sum.
TEST(GenerateTest, ExpertsMayGatherAllTokens) {
  Plan plan;
  plan.dp = 4;
  plan.ep = 4;
  plan.dispatch = TokenDispatch::kAllGather;
  const Program program = FirstProgram(JobOf({.model = {"moe", SmallMoe()}, .plan = plan}));
  const std::int64_t bytes = 1024 * 4 * kHidden * 2;
  EXPECT_EQ(Count(program, {GroupRole::kExperts, kAllGather}), Times(2 * kLayers, bytes));
  EXPECT_EQ(Count(program, {GroupRole::kExperts, kReduceScatter}), Times(2 * kLayers, bytes));
}

// Section 8: the ring passes K and V on c − 1 times forward, 2·b·(s/c)·kv·d_h·2 bytes each;
// backward c − 1 times with their gradients, and the gradients once more.
TEST(GenerateTest, ARingPassesKeysAndValuesOn) {
  Plan plan;
  plan.cp = 4;
  const Program program = FirstProgram(SmallJob(plan));
  const std::int64_t bytes = 2 * (1024 / 4) * kHidden * 2;
  EXPECT_EQ(Count(program, {GroupRole::kContext, kSendRecv}),
            (CommunicationCount{kLayers * (3 + 4), kLayers * (3 + 2 * 3 + 1) * bytes}));
}

// The example of section 8: s = 131,072, c = 8, 8 heads of keys of 128: 67,108,864 B a send.
TEST(GenerateTest, ASendOfTheRingIsAsInTheExample) {
  Plan plan;
  plan.cp = 8;
  Transformer model = Llama3();
  model.blocks[0].count = 1;
  const Program program =
      FirstProgram(JobOf({.model = {"llama", model}, .plan = plan, .sequence = 131'072}));
  EXPECT_EQ(Count(program, {GroupRole::kContext, kSendRecv}).bytes, (7 + 2 * 7 + 1) * 67'108'864LL);
}

// All-gather of K and V with 2·b·s·kv·d_h·2 on the whole side, forward and again backward, and a
// reduce-scatter of their gradients. Ulysses: all-to-all of Q, K, V together (3h a token) and of
// the output (h).
TEST(GenerateTest, OtherKindsOfContextParallelismGatherOrDealHeads) {
  Plan plan;
  plan.cp = 4;
  plan.context = ContextKind::kAllGather;
  const Program gathers = FirstProgram(SmallJob(plan));
  EXPECT_EQ(Count(gathers, {GroupRole::kContext, kAllGather}), Times(2 * kLayers, 2 * kX));
  EXPECT_EQ(Count(gathers, {GroupRole::kContext, kReduceScatter}), Times(kLayers, 2 * kX));
  plan.context = ContextKind::kUlysses;
  const Program deals = FirstProgram(SmallJob(plan));
  EXPECT_EQ(Count(deals, {GroupRole::kContext, kAllToAll}),
            (CommunicationCount{4 * kLayers, 2 * kLayers * (3 + 1) * kX / 4}));
}

// c = 4 as 2 · 2: pairs deal heads with the bytes of Ulysses; then each rank has half of the tokens
// and half of the heads, 2·b·(s/2)·(h/2)·2 bytes of K and V, which go round a ring of two: once
// forward, once with gradients backward, and the gradients once more.
TEST(GenerateTest, HeadsAreDealtInsideAndKeysGoRoundAcross) {
  Plan plan;
  plan.cp = 4;
  plan.context = ContextKind::kUlyssesRing;
  plan.ulysses_ranks = 2;
  const GeneratedJob generated = Generated(SmallJob(plan));
  const Program& program = generated.ensemble.programs.front();
  EXPECT_EQ(Count(program, {GroupRole::kContext}),
            (CommunicationCount{4 * kLayers, 2 * kLayers * (3 + 1) * kX / 4}));
  const std::int64_t bytes = 2 * (1024 / 2) * (kHidden / 2) * 2;
  EXPECT_EQ(Count(program, {GroupRole::kContextRing, kSendRecv}),
            (CommunicationCount{kLayers * (1 + 2), kLayers * (1 + 2 + 1) * bytes}));
  const auto members = [&](Rank rank, GroupRole role) {
    const auto group = generated.ensemble.GroupOf(rank, static_cast<std::uint32_t>(role));
    const auto span = generated.ensemble.Members(group);
    return std::vector<Rank>(span.begin(), span.end());
  };
  EXPECT_EQ(members(1, GroupRole::kContext), (std::vector<Rank>{0, 1}));
  EXPECT_EQ(members(3, GroupRole::kContext), (std::vector<Rank>{2, 3}));
  EXPECT_EQ(members(3, GroupRole::kContextRing), (std::vector<Rank>{1, 3}));
}

// Weights are the same on context-parallel ranks: their gradients are summed over d · c.
TEST(GenerateTest, ContextParallelRanksSumTheirGradients) {
  Plan plan;
  plan.cp = 4;
  plan.dp = 2;
  const GeneratedJob generated = Generated(SmallJob(plan));
  EXPECT_EQ(Count(generated.ensemble.programs[0], {GroupRole::kData, kAllReduce}).bytes,
            4 * kParameters);
  const auto group = generated.ensemble.GroupOf(0, static_cast<std::uint32_t>(GroupRole::kData));
  EXPECT_EQ(generated.ensemble.Members(group).size(), 8U);
}

// Buckets of gradients, the optimizer and the end of the step are not counted, nor are gathers that
// a framework need not repeat: within a fifth.
TEST(GenerateTest, TheEstimateOfTasksIsCloseToWhatIsGenerated) {
  Plan pipeline = {.pp = 2, .dp = 2};
  Plan sharded = {.dp = 4, .sharding = Sharding::kParameters};
  Plan both_ways = {.pp = 2, .schedule = PipelineSchedule::kDualPipe};
  Plan recomputed = {.tp = 2, .recompute = Recompute::kFull};
  for (const Plan& plan : {pipeline, sharded, both_ways, recomputed}) {
    const Job job = SmallJob(plan, 16);
    std::size_t tasks = 0;
    for (const Program& program : Generated(job).ensemble.programs) {
      tasks += program.tasks.size();
    }
    const auto estimate = static_cast<double>(EstimateTasks(job).value());
    EXPECT_NEAR(estimate / static_cast<double>(tasks), 1, 0.2);
  }
}

// Both ends of a V are on the first device: no gradients are summed with another one.
TEST(GenerateTest, TiedEndsOnOneDeviceNeedNoSum) {
  Transformer model = SmallGpt();
  model.is_tied = true;
  const Plan plan = {.pp = 2, .schedule = PipelineSchedule::kZeroBubbleV};
  model.blocks[0].count = 4;
  const GeneratedJob v =
      Generated(JobOf({.model = {"tied", model}, .plan = plan, .microbatches = 4}));
  for (const Program& program : v.ensemble.programs) {
    EXPECT_EQ(Count(program, {GroupRole::kTied}).messages, 0);
  }
}

}  // namespace
}  // namespace orrery::workload
