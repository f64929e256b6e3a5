#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <gtest/gtest.h>

#include "orrery/base/collective_kind.h"
#include "orrery/workload/generate/jobs_test.h"
#include "orrery/workload/generate/layer_op.h"
#include "orrery/workload/generate/program_counts_test.h"
#include "orrery/workload/generate/small_jobs_test.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/plan/activation_memory.h"
#include "orrery/workload/plan/plan.h"
#include "orrery/workload/program.h"

// Work and memory of jobs that train a part of a model.

namespace orrery::workload {
namespace {

std::int64_t TasksOf(const Program& program, std::string_view name) {
  std::int64_t count = 0;
  for (TaskId task = 0; task < program.tasks.size(); ++task) {
    count += program.strings.View(program.tasks.name[task]) == name ? 1 : 0;
  }
  return count;
}

std::int64_t Longest(const Program& program, std::string_view name) {
  std::int64_t longest = 0;
  for (TaskId task = 0; task < program.tasks.size(); ++task) {
    if (program.strings.View(program.tasks.name[task]) == name) {
      longest = std::max(longest, program.tasks.duration_ps[task]);
    }
  }
  return longest;
}

std::int64_t HeldBytes(const Program& program, std::string_view category) {
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < program.held_memory.size(); ++i) {
    const bool is_asked = program.strings.View(program.held_memory.category[i]) == category;
    bytes += is_asked ? program.held_memory.bytes[i] : 0;
  }
  return bytes;
}

Job WithAdapters(const Plan& plan, AdapterTargets targets = AdapterTargets::kAttention) {
  Job job = SmallJob(plan);
  job.training.adapter_rank = 16;
  job.training.adapter_targets = targets;
  return job;
}

// Beside attention 16·(h + 3h) and 16·(h + h) elements, beside the network 16·(h + 4h) twice.
constexpr std::int64_t kAttentionAdapters = 16 * 6 * kHidden;
constexpr std::int64_t kLinearAdapters = 16 * 16 * kHidden;

TEST(FineTuning, AdaptersMayStandBesideFeedForwardNetworks) {
  Plan plan;
  plan.dp = 2;
  EXPECT_EQ(Count(FirstProgram(WithAdapters(plan)), {GroupRole::kData}).bytes,
            4 * kLayers * kAttentionAdapters);
  const Program program = FirstProgram(WithAdapters(plan, AdapterTargets::kLinear));
  EXPECT_EQ(Count(program, {GroupRole::kData}).bytes, 4 * kLayers * kLinearAdapters);
  // Down, up and the sum forward; four products and the sum backward: of four targets in a layer.
  EXPECT_EQ(TasksOf(program, "adapter"), 8 * 4 * kLayers);
}

// 4096 · 4096 elements: half a byte each, a byte for each of 262,144 blocks, four for each of 1,024
// groups of these.
TEST(FineTuning, FourBitsHaveScales) {
  Training training;
  EXPECT_EQ(BaseBytes(4096 * 4096, training), 2 * 4096 * 4096);
  training.base_format = BaseFormat::kNf4;
  EXPECT_EQ(BaseBytes(4096 * 4096, training), 8'388'608 + 262'144 + 4'096);
}

// All but adapters are 2 bytes a parameter, and with QLoRA the 12h² of a layer are 6,291,456 bytes,
// 196,608 of scales and 3,072 of their scales.
TEST(FineTuning, AFrozenBaseIsHeldAsItIsStored) {
  Job job = WithAdapters({});
  const std::int64_t adapters = kLayers * kAttentionAdapters;
  EXPECT_EQ(HeldBytes(FirstProgram(job), "parameters"), 2 * (kParameters + adapters));
  EXPECT_EQ(HeldBytes(FirstProgram(job), "optimizer states"), 12 * adapters);
  job.training.base_format = BaseFormat::kNf4;
  EXPECT_EQ(HeldBytes(FirstProgram(job), "parameters"),
            2 * (kParameters + adapters - kLayers * 12 * kHidden * kHidden) + kLayers * 6'491'136);
}

// Four matrices in a layer, before each product that reads them: forward, backward to the input,
// and once more where the block runs again. Embedding and head are as they were.
TEST(FineTuning, FourBitsAreMadeSixteenBeforeEachProduct) {
  Job job = WithAdapters({});
  EXPECT_EQ(TasksOf(FirstProgram(job), "dequantise"), 0);
  job.training.base_format = BaseFormat::kNf4;
  EXPECT_EQ(TasksOf(FirstProgram(job), "dequantise"), 2 * 4 * kLayers);
  EXPECT_EQ(TasksOf(FirstProgram(job), "dequantise scales"), 2 * 4 * kLayers);
  job.plan.recompute = Recompute::kFull;
  EXPECT_EQ(TasksOf(FirstProgram(job), "dequantise"), 3 * 4 * kLayers);
}

// Forward all units are gathered, backward all but the head, which is there still.
TEST(FineTuning, FrozenShardsAreGathered) {
  Plan plan;
  plan.dp = 2;
  plan.sharding = Sharding::kParameters;
  const Program program = FirstProgram(WithAdapters(plan));
  const std::int64_t whole = 2 * (kParameters + kLayers * kAttentionAdapters);
  EXPECT_EQ(Count(program, {GroupRole::kData, CollectiveKind::kAllGather}).bytes,
            2 * whole - 2 * kHead);
  EXPECT_EQ(Count(program, {GroupRole::kData, CollectiveKind::kReduceScatter}).bytes,
            4 * kLayers * kAttentionAdapters);
  EXPECT_EQ(HeldBytes(program, "parameters"), whole / 2);
}

// One layer of two, and the embedding: forward in both, two products backward in the other;
// gradients of a layer and of the head.
TEST(FineTuning, FrozenBlocksHaveNoBackwardPass) {
  Plan plan;
  plan.dp = 2;
  plan.recompute = Recompute::kFull;
  Job job = SmallJob(plan);
  EXPECT_EQ(TasksOf(FirstProgram(job), "embedding"), 2);
  EXPECT_EQ(TasksOf(FirstProgram(job), "mlp up"), 4 * kLayers);
  job.training.frozen_blocks = 1;
  const Program program = FirstProgram(job);
  EXPECT_EQ(TasksOf(program, "embedding"), 1);
  EXPECT_EQ(TasksOf(program, "mlp up"), 1 + 4);
  EXPECT_EQ(Count(program, {GroupRole::kData}).bytes, 4 * (kBlock + kHead));
  EXPECT_EQ(HeldBytes(program, "optimizer states"), 12 * (kBlock + kHead));
  EXPECT_EQ(HeldBytes(program, "parameters"), 2 * kParameters);
}

// A block that runs again keeps its input, 2 MiB: half of it takes 16.384 µs over 64 GB/s.
TEST(FineTuning, KeptActivationsGoToTheHostAndBack) {
  Plan plan;
  plan.recompute = Recompute::kFull;
  EXPECT_EQ(TasksOf(FirstProgram(SmallJob(plan)), "offload activations"), 0);
  plan.offload_activations = 0.5;
  const Program program = FirstProgram(SmallJob(plan, 3));
  for (const std::string_view name : {"offload activations", "reload activations"}) {
    EXPECT_EQ(TasksOf(program, name), 3 * kLayers) << name;
    EXPECT_EQ(Longest(program, name), 16'384'000) << name;
  }
  static_assert(kX == 2 << 20);
  // Copy engines leave all multiprocessors to the kernels beside them.
  for (TaskId task = 0; task < program.tasks.size(); ++task) {
    if (program.strings.View(program.tasks.name[task]) == "offload activations") {
      EXPECT_EQ(program.parts.sm_share[program.tasks.part[task]], 0);
      EXPECT_EQ(program.strings.View(program.parts.category[program.tasks.part[task]]), "copies");
    }
  }
}

}  // namespace
}  // namespace orrery::workload
