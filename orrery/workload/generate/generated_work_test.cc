#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/data_type.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/generate/block_ops.h"
#include "orrery/workload/generate/generate.h"
#include "orrery/workload/generate/jobs_test.h"
#include "orrery/workload/generate/layer_op.h"
#include "orrery/workload/generate/layer_writer.h"
#include "orrery/workload/generate/program_counts_test.h"
#include "orrery/workload/generate/small_jobs_test.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/model/flops.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/model/presets.h"
#include "orrery/workload/plan/plan.h"
#include "orrery/workload/program.h"

// Work of the programs of whole jobs.

namespace orrery::workload {
namespace {

using enum CollectiveKind;

/// The number of tasks of a name, and their total time.
struct TaskSum {
  std::int64_t count = 0;
  std::int64_t ps = 0;
};

TaskSum Sum(const Program& program, std::string_view name) {
  TaskSum sum;
  for (TaskId task = 0; task < program.tasks.size(); ++task) {
    if (program.strings.View(program.tasks.name[task]) == name) {
      ++sum.count;
      sum.ps += program.tasks.duration_ps[task];
    }
  }
  return sum;
}

// Section 9: gradients of 4 bytes go to the host over 64 GB/s, parameters of 2 come back; the host
// reads and writes 12 bytes of states, reads 4 of gradients and writes 2: 30 bytes a parameter.
TEST(GeneratedWorkTest, AnOffloadedOptimizerCopiesAndUpdatesOnTheHost) {
  Plan plan;
  plan.offload_optimizer = true;
  const Job job = SmallJob(plan);
  const Program program = FirstProgram(job);
  const double out = 4.0 * kParameters / 64e9 * 1e12;
  const TaskSum copies = Sum(program, "copy gradients out");
  const TaskSum updates = Sum(program, "update on the host");
  const TaskSum back = Sum(program, "copy parameters back");
  EXPECT_NEAR(static_cast<double>(copies.ps), out, 100);
  EXPECT_NEAR(static_cast<double>(back.ps), out / 2, 100);
  EXPECT_EQ(copies.count, updates.count);
  EXPECT_GT(updates.ps, copies.ps);
  EXPECT_EQ(Sum(program, "update").count, 0);
  EXPECT_EQ(Sum(FirstProgram(SmallJob({})), "update").count, 1);
}

// LoRA of rank 16: gradients of 16·(h + 3h) and 16·(h + h) elements a layer and of nothing else; a
// frozen matrix is read forward and for its input's gradient, not for its own.
TEST(GeneratedWorkTest, FrozenParametersHaveNoGradients) {
  Plan plan;
  plan.dp = 2;
  Job job = SmallJob(plan);
  EXPECT_EQ(Sum(FirstProgram(job), "mlp up").count, 3 * kLayers);
  job.training.adapter_rank = 16;
  const Program program = FirstProgram(job);
  EXPECT_EQ(Sum(program, "mlp up").count, 2 * kLayers);
  EXPECT_EQ(Count(program, {GroupRole::kData}).bytes, 4 * kLayers * 16 * 6 * kHidden);
}

// Everybody hears of the norm; in fp16 of overflows as well.
TEST(GeneratedWorkTest, HalfPrecisionChecksForOverflow) {
  Plan plan;
  plan.dp = 2;
  Job job = SmallJob(plan);
  EXPECT_EQ(Count(FirstProgram(job), {GroupRole::kAll, kAllReduce}), Times(1, 4));
  job.training.precision.compute = DataType::kFp16;
  job.training.precision.gemm_type = DataType::kFp16;
  EXPECT_EQ(Count(FirstProgram(job), {GroupRole::kAll, kAllReduce}), Times(2, 4));
}

// Narrow gradients become fp32 before they are unscaled and clipped, by a kernel each or, in
// DeepSpeed, by one; masters are updated and copied to the parameters.
TEST(GeneratedWorkTest, UpdatesOfMastersReadAndWriteWhatTheirFrameworkDoes) {
  Job job = SmallJob({});
  EXPECT_EQ(Sum(FirstProgram(job), "masters to parameters").count, 1);
  EXPECT_EQ(Sum(FirstProgram(job), "gradients to fp32").count, 0);
  job.training.precision.compute = DataType::kFp16;
  job.training.precision.gradient_bytes = 2;
  const Program apart = FirstProgram(job);
  for (const std::string_view name : {"gradients to fp32", "unscale and check gradients",
                                      "clip gradients", "update", "masters to parameters"}) {
    EXPECT_EQ(Sum(apart, name).count, 1) << name;
  }
  job.framework.scales_gradients_once = true;
  const Program together = FirstProgram(job);
  for (const std::string_view name :
       {"gradients to fp32", "unscale and clip gradients", "update", "masters to parameters"}) {
    EXPECT_EQ(Sum(together, name).count, 1) << name;
  }
  EXPECT_EQ(Sum(together, "unscale and check gradients").count, 0);
  EXPECT_EQ(Sum(together, "clip gradients").count, 0);
}

// 16 heads over tp 8 are two on a rank: no multiple of four with one sequence, one with two. The
// kernel is then five, forward and backward.
TEST(GeneratedWorkTest, AFusedSoftmaxNeedsHeadsInFours) {
  Plan plan;
  plan.tp = 8;
  Job job = SmallJob(plan);
  job.framework.attention = AttentionKernel::kMaterialised;
  const Program alone = FirstProgram(job);
  EXPECT_EQ(Sum(alone, "softmax").count, 2 * kLayers);
  EXPECT_EQ(Sum(alone, "scale").count, 2 * kLayers);
  EXPECT_EQ(Sum(alone, "mask").count, 2 * kLayers);
  EXPECT_EQ(Sum(alone, "scores to fp32").count, 2 * kLayers);
  EXPECT_EQ(Sum(alone, "scores from fp32").count, 2 * kLayers);
  job.training.micro_batch = 2;
  job.training.global_batch = 2;
  const Program pair = FirstProgram(job);
  EXPECT_EQ(Sum(pair, "softmax").count, 2 * kLayers);
  EXPECT_EQ(Sum(pair, "scale").count, 0);
  EXPECT_EQ(Sum(pair, "scores to fp32").count, 0);
}

// Once at the end of the step, and before each micro-batch but the first.
TEST(GeneratedWorkTest, TheHostMayWaitBeforeEachBatch) {
  Job job = SmallJob({}, 3);
  EXPECT_EQ(Sum(FirstProgram(job), "cudaStreamSynchronize").count, 1);
  job.framework.waits_each_batch = true;
  EXPECT_EQ(Sum(FirstProgram(job), "cudaStreamSynchronize").count, 3);
}

// A stage of a pipeline posts the receipt of a batch before its host waits for earlier work: it
// would otherwise come in only after that.
TEST(GeneratedWorkTest, TheHostWaitsForABatchBehindItsMessage) {
  Plan plan;
  plan.pp = 2;
  Job job = SmallJob(plan, 2);
  job.framework.waits_each_batch = true;
  const auto generated = Generated(job);
  const Program& last = generated.ensemble.programs[1];
  std::vector<std::string_view> order;
  for (TaskId task = 0; task < last.tasks.size(); ++task) {
    const std::string_view name = last.strings.View(last.tasks.name[task]);
    if (name == "receive" || name == "cudaStreamSynchronize") {
      order.push_back(name);
    }
  }
  // 1F1B on the last stage: a forward and a backward pass of each micro-batch; the end of the step.
  EXPECT_EQ(order, (std::vector<std::string_view>{"receive", "receive", "cudaStreamSynchronize",
                                                  "cudaStreamSynchronize"}));
}

// TV4: T = 4096, k = 2, E = 8, cf 1.25: every expert takes 1,280 tokens of a rank, padded.
TEST(GeneratedWorkTest, CapacityPadsWhatIsSent) {
  Plan plan;
  plan.dp = 4;
  plan.ep = 4;
  plan.capacity_factor = 1.25;
  const Program program =
      FirstProgram(JobOf({.model = {"moe", SmallMoe()}, .plan = plan, .sequence = 4096}));
  EXPECT_EQ(Count(program, {GroupRole::kExperts, kAllToAll}),
            Times(4 * kLayers, 1280 * 8 * kHidden * 2));
}

// The shared expert computes the same, wherever it stands.
TEST(GeneratedWorkTest, ASharedExpertBesideDispatchDoesTheSameWork) {
  Transformer model = SmallMoe();
  std::get<Experts>(model.blocks[0].block.mlp).shared = FeedForward{.width = 2048};
  Plan plan;
  plan.dp = 4;
  plan.ep = 4;
  Job job = JobOf({.model = {"moe", model}, .plan = plan});
  const Program before = FirstProgram(job);
  job.framework.overlaps_experts = true;
  const Program beside = FirstProgram(job);
  EXPECT_EQ(Sum(before, "mlp up").count, 3 * kLayers);
  EXPECT_EQ(Sum(beside, "mlp up").count, 3 * kLayers);
  EXPECT_EQ(Count(beside, {GroupRole::kExperts}), Count(before, {GroupRole::kExperts}));
}

// Two norms a layer and one before the head: forward, again, backward.
TEST(GeneratedWorkTest, RecomputedNormsRunAgain) {
  Plan plan;
  EXPECT_EQ(Sum(FirstProgram(SmallJob(plan)), "norm").count, 2 * (2 * kLayers + 1));
  plan.recompute_parts.norms = true;
  const Program program = FirstProgram(SmallJob(plan));
  EXPECT_EQ(Sum(program, "norm").count, 3 * (2 * kLayers + 1));
  EXPECT_EQ(Sum(program, "qkv").count, 3 * kLayers);
}

// Experts that run again communication tokens six times a layer instead of four; the activation in
// them belongs to them and runs again once.
TEST(GeneratedWorkTest, RecomputedExpertsExchangeTokensAgain) {
  Plan plan;
  plan.dp = 4;
  plan.ep = 4;
  plan.recompute_parts.activations = true;
  const Program activations = FirstProgram(JobOf({.model = {"moe", SmallMoe()}, .plan = plan}));
  EXPECT_EQ(Count(activations, {GroupRole::kExperts}).messages, 4 * kLayers);
  EXPECT_EQ(Sum(activations, "experts up").count, 3 * kLayers);
  EXPECT_EQ(Sum(activations, "activation").count, 3 * kLayers);
  plan.recompute_parts.experts = true;
  const Program experts = FirstProgram(JobOf({.model = {"moe", SmallMoe()}, .plan = plan}));
  EXPECT_EQ(Count(experts, {GroupRole::kExperts}).messages, 6 * kLayers);
  EXPECT_EQ(Sum(experts, "experts up").count, 4 * kLayers);
  EXPECT_EQ(Sum(experts, "router").count, 4 * kLayers);
  EXPECT_EQ(Sum(experts, "activation").count, 3 * kLayers);
}

// Host time of all launches of a program.
std::int64_t LaunchPs(const Program& program) {
  std::int64_t sum = 0;
  for (TaskId task = 0; task < program.tasks.size(); ++task) {
    sum += program.tasks.kind[task] == TaskKind::kLaunch ? program.tasks.duration_ps[task] : 0;
  }
  return sum;
}

std::int64_t CountWaits(const Program& program) {
  return std::ranges::count(program.tasks.kind, TaskKind::kSynchronize);
}

TEST(GeneratedWorkTest, GraphsOfLayersLeaveTheLaunchesOfExperts) {
  Job job = JobOf({.model = {"moe", SmallMoe()}});
  job.framework.launch_us = 1;
  const auto launches = [&](CudaGraphs graphs) {
    job.framework.graphs = graphs;
    return LaunchPs(FirstProgram(job));
  };
  EXPECT_LT(launches(CudaGraphs::kLayers), launches(CudaGraphs::kOff));
  // Permutation, GEMMs and activation of each layer are still launched.
  EXPECT_GT(launches(CudaGraphs::kLayers), launches(CudaGraphs::kStep) + 10 * kLayers * 1'000'000);
}

// A GEMM for each of the local experts: as many kernels as experts, four host calls each in fp8.
TEST(GeneratedWorkTest, ALoopOverExpertsIsLaunchedOneByOne) {
  Job job = JobOf({.model = {"moe", SmallMoe()}});
  job.framework.launch_us = 1;
  const std::int64_t grouped = LaunchPs(FirstProgram(job));
  job.framework.launches_each_expert = true;
  const auto experts = std::get<Experts>(job.model.transformer()->blocks[0].block.mlp).count;
  // Two GEMMs forward and four backward in each layer; one launch each becomes two for each expert.
  EXPECT_EQ(LaunchPs(FirstProgram(job)) - grouped, kLayers * 6 * (2 * experts - 1) * 1'000'000);
}

// Four matrices of a layer and the head are cut, each with three GEMMs.
TEST(GeneratedWorkTest, ShardedWeightsCostTheHostMoreCalls) {
  Plan plan;
  plan.tp = 2;
  const auto more = [&](Job job) {
    job.framework.launch_us = 1;
    const std::int64_t plain = LaunchPs(FirstProgram(job));
    job.framework.sharded_weight_calls = 5;
    return LaunchPs(FirstProgram(job)) - plain;
  };
  EXPECT_EQ(more(SmallJob(plan)), (4 * kLayers + 1) * 3 * 5 * 1'000'000);
  EXPECT_EQ(more(SmallJob({})), 0);  // nothing is cut
  Job compiled = SmallJob(plan);
  compiled.framework.is_compiled = true;
  EXPECT_EQ(more(compiled), 0);
}

// Forward and backward, a layer has four GEMMs with their input gradients, two norms and the core
// of attention; the last norm and the head come once. On a slower host they take longer.
TEST(GeneratedWorkTest, EagerModulesCostTheHostMoreCalls) {
  Job job = SmallJob({});
  job.framework.launch_us = 1;
  job.framework.module_calls = 5;
  job.framework.step_calls = 100;
  const std::int64_t plain = LaunchPs(FirstProgram(job));
  job.framework.has_eager_modules = true;
  const std::int64_t calls = (2 * (4 + 2 + 1) * kLayers + 2 * 2) * 5 + 100;
  EXPECT_EQ(LaunchPs(FirstProgram(job)) - plain, calls * 1'000'000);
  job.cluster.host_ratio = 1.5;
  EXPECT_EQ(LaunchPs(FirstProgram(job)) - plain, calls * 1'500'000);
  job.framework.graphs = CudaGraphs::kStep;
  EXPECT_EQ(LaunchPs(FirstProgram(job)), 0);
}

// Twelve tensors of each layer, words and positions, the head and its norm: 29. Zeros take four
// kernels for each, the norm one copy for each and one kernel more; the host reads both.
TEST(GeneratedWorkTest, LogsOfParametersTakeKernelsForEachTensor) {
  Job job = SmallJob({});
  job.framework.launch_us = 1;
  const std::int64_t plain = LaunchPs(FirstProgram(job));
  const std::int64_t waits = CountWaits(FirstProgram(job));
  job.framework.logs_gradient_zeros = true;
  EXPECT_EQ(LaunchPs(FirstProgram(job)) - plain, 4 * (12 * kLayers + 5) * 1'000'000);
  job.framework.logs_parameter_norm = true;
  EXPECT_EQ(LaunchPs(FirstProgram(job)) - plain, (5 * (12 * kLayers + 5) + 1) * 1'000'000);
  EXPECT_EQ(CountWaits(FirstProgram(job)), waits + 2);
}

TEST(GeneratedWorkTest, WithoutACapacityTheHostReadsTheRouting) {
  Plan plan;
  plan.dp = 4;
  plan.ep = 4;
  Job job = JobOf({.model = {"moe", SmallMoe()}, .plan = plan});
  const std::int64_t at_end = 1;  // of the step, for the norm of gradients
  EXPECT_EQ(CountWaits(FirstProgram(job)), at_end);
  job.framework.reads_routing = true;
  EXPECT_EQ(CountWaits(FirstProgram(job)), at_end + kLayers);  // once forward
  job.plan.capacity_factor = 1;
  EXPECT_EQ(CountWaits(FirstProgram(job)), at_end);
}

// Half of two blocks: the first of them (1 · ½ + ½ ≥ 1).
TEST(GeneratedWorkTest, AShareOfBlocksRunsAgain) {
  Plan plan;
  plan.recompute = Recompute::kFull;
  EXPECT_EQ(Sum(FirstProgram(SmallJob(plan)), "qkv").count, 4 * kLayers);
  plan.recompute_share = 0.5;
  EXPECT_EQ(Sum(FirstProgram(SmallJob(plan)), "qkv").count, 4 + 3);
}

// A put-off gradient of a weight needs inputs and gradients as the product reads them: in a layer
// 3h + h, h + h, 4h + h and h + 4h elements a token besides.
TEST(GeneratedWorkTest, DeferredWgradOfNarrowGemmsKeepsNarrowInputs) {
  Job job = SmallJob({});
  const Transformer& model = *job.model.transformer();
  const auto kept = [&] {
    return BlockOps(MicrobatchShapeOf(job, model), model, model.blocks[0].block).weight_inputs;
  };
  EXPECT_EQ(kept(), 1024 * 16 * kHidden * 2);
  job.training.precision.gemm_type = DataType::kFp8;
  EXPECT_EQ(kept(), 1024 * 16 * kHidden);
}

/// Operations of all products that all ranks of a job execute.
double ExecutedOf(const Job& job) {
  const GeneratedJob generated = Generate(job, CountingCosts()).value();
  double sum = 0;
  for (const ProgramId id : generated.ensemble.program_of_rank) {
    const Program& program = generated.ensemble.programs[id];
    for (TaskId task = 0; task < program.tasks.size(); ++task) {
      sum += static_cast<double>(program.tasks.duration_ps[task]);
    }
  }
  return sum * CountingCosts::kFlopsPerPicosecond;
}

double Expected(const Job& job) {
  const Transformer& model = *job.model.transformer();
  const std::int64_t side = model.patch > 0 ? model.image / model.patch : 0;
  return ExecutedFlops(model,
                       {.sequence = side > 0 ? side * side + 1 : job.training.sequence,
                        .samples = job.training.global_batch},
                       {.recompute = job.plan.recompute,
                        .parts = job.plan.recompute_parts,
                        .trained = job.training.trained()});
}

std::vector<Plan> PlansOf(const Transformer& model) {
  Plan base;
  Plan spread;
  spread.pp = 2;
  spread.dp = 2;
  Plan context;
  context.cp = 2;
  Plan again;
  again.recompute = Recompute::kFull;
  Plan parts;
  parts.recompute_parts = {.norms = true, .latent_up = true, .activations = true, .experts = true};
  std::vector<Plan> plans = {base, spread, again, parts};
  if (model.patch == 0) {
    plans.push_back(context);
    context.cp = 4;
    context.context = ContextKind::kUlyssesRing;
    context.ulysses_ranks = 2;
    plans.push_back(context);
  }
  const Block& block = model.blocks.back().block;
  if (block.experts() != nullptr) {
    Plan experts;
    experts.dp = 4;
    experts.ep = 4;
    plans.push_back(experts);
  }
  // Work that tensor parallelism repeats on its ranks is counted more than once.
  if (!block.self.latent && !model.has_head_transform && model.patch == 0 &&
      block.self.heads % 2 == 0) {
    Plan tensor;
    tensor.tp = 2;
    tensor.sequence_parallel = true;
    plans.push_back(tensor);
  }
  return plans;
}

// The program of a job is made operator by operator, the count of flops.h from formulas: they agree
// for every transformer of the catalogue and every kind of plan.
TEST(GeneratedWorkTest, ProgramsExecuteTheOperationsOfTheModel) {
  int compared = 0;
  for (const Preset& preset : Presets().models) {
    const Model model = ModelOf(preset, DataType::kBf16).value();
    if (model.transformer() == nullptr) {
      continue;
    }
    for (const Plan& plan : PlansOf(*model.transformer())) {
      const Job job = JobOf({.model = model, .plan = plan, .sequence = 2048, .microbatches = 2});
      if (!CheckJob(job)) {
        continue;
      }
      ++compared;
      EXPECT_NEAR(ExecutedOf(job) / Expected(job), 1, 0.01)
          << preset.name << " tp " << plan.tp << " pp " << plan.pp << " cp " << plan.cp << " ep "
          << plan.ep << " recompute " << static_cast<int>(plan.recompute);
    }
  }
  EXPECT_GT(compared, 40);
}

// LoRA: no gradients of frozen weights, and two narrow products beside the projections.
TEST(GeneratedWorkTest, FrozenModelsExecuteTwoThirdsOfTheirProducts) {
  for (const std::string_view name : {"llama3-8b", "gpt3-13b", "mixtral-8x7b"}) {
    for (const Recompute recompute : {Recompute::kNothing, Recompute::kFull}) {
      Plan plan;
      plan.recompute = recompute;
      Job job = JobOf({.model = ModelOf(*FindPreset(name).value(), DataType::kBf16).value(),
                       .plan = plan,
                       .sequence = 2048,
                       .microbatches = 2});
      job.training.adapter_rank = 64;
      EXPECT_NEAR(ExecutedOf(job) / Expected(job), 1, 0.01) << name;
      job.training.frozen_blocks = 10;
      EXPECT_NEAR(ExecutedOf(job) / Expected(job), 1, 0.01) << name;
      job.training.adapter_rank = 0;
      EXPECT_NEAR(ExecutedOf(job) / Expected(job), 1, 0.01) << name;
    }
  }
}

}  // namespace
}  // namespace orrery::workload
