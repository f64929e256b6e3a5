#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/base/error.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/estimate.h"
#include "orrery/kernel/operator.h"
#include "orrery/simulate/explain/summary.h"
#include "orrery/simulate/network/group_limits.h"
#include "orrery/simulate/simulation.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/generate/jobs_test.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/model/models_test.h"
#include "orrery/workload/plan/plan.h"

// Jobs whose ranks are not alike: other GPUs, faults of the network.

namespace orrery::simulate {
namespace {

using workload::Job;
using workload::Plan;
using workload::Rank;

/// Every operator takes a microsecond on an H100, and twice as long on all else.
class HalfAsFast : public kernel::CostModel {
 public:
  using kernel::CostModel::Predict;

  void Predict(std::span<const kernel::Operator> operators, const hardware::Gpu& gpu,
               std::span<kernel::Estimate> estimates) const override {
    for (std::size_t i = 0; i < operators.size(); ++i) {
      estimates[i] = {};
      estimates[i].seconds = gpu.name == "H100" ? 1e-6 : 2e-6;
    }
  }
};

Job JobOf(const Plan& plan) {
  workload::Transformer model =
      workload::Gpt({.hidden = 1024, .layers = 4, .heads = 16, .vocabulary = 51200});
  model.is_tied = false;
  Job job = workload::JobOf(
      {.model = {"mixed", model}, .plan = plan, .microbatches = plan.pp > 1 ? 8 : 2});
  job.framework.data_overlap = workload::DataOverlap::kBuckets;
  return job;
}

Job WithOther(Job job, int first, int last, const char* gpu) {
  job.other_gpus.push_back({.first = first, .last = last, .gpu = *hardware::FindGpu(gpu)});
  return job;
}

Simulation Simulated(const Job& job, const SimulationOptions& options = {}) {
  Result<Simulation> simulation = Simulate(job, HalfAsFast(), options);
  EXPECT_TRUE(simulation.has_value()) << (simulation ? "" : simulation.error().message());
  return *std::move(simulation);
}

Plan Copies(int dp) {
  Plan plan;
  plan.dp = dp;
  return plan;
}

// An H20 has the links of an H100, so that only kernels differ. All wait for the slower rank: the
// step is as long as that of two H20s.
TEST(MixedJobTest, TwoRanksAreAsFastAsTheSlowerOne) {
  const Job fast = JobOf(Copies(2));
  Job slow = fast;
  slow.gpu = *hardware::FindGpu("H20");
  const SimulationOptions alone = {.overlap = OverlapKind::kNone};

  const Simulation mixed = Simulated(WithOther(fast, 1, 1, "H20"), alone);

  EXPECT_EQ(mixed.rank_classes.classes.size(), 2U);
  EXPECT_EQ(mixed.step_ps(), Simulated(slow, alone).step_ps());
  EXPECT_GT(mixed.step_ps(), Simulated(fast, alone).step_ps());
}

// Four stages of two ranks; ranks 2 and 3 are the second stage. The others keep one program each.
TEST(MixedJobTest, EachStageHasAProgramForEachOfItsGpus) {
  Plan plan;
  plan.pp = 4;
  plan.dp = 2;
  const Simulation mixed =
      Simulated(WithOther(WithOther(JobOf(plan), 2, 3, "H20"), 7, 7, "A100-80GB"));

  const workload::Ensemble& ensemble = mixed.generated->ensemble;
  EXPECT_EQ(ensemble.programs.size(), 5U);
  EXPECT_EQ(ensemble.stage_of_program, (std::vector<std::uint32_t>{0, 2, 3, 1, 3}));
  EXPECT_EQ(ensemble.program_of_rank, (std::vector<std::uint32_t>{0, 0, 3, 3, 1, 1, 2, 4}));
  EXPECT_EQ(mixed.generated->coverage.size(), 3U);
}

// Peaks of 989.4 and 312 TFLOP/s, memories of 80 and 40 GB: the smaller one has least left.
TEST(MixedJobTest, EveryRankCountsWithItsOwnGpu) {
  const Job job = WithOther(JobOf(Copies(2)), 1, 1, "A100-40GB");
  const Simulation mixed = Simulated(job);
  const StepSummary summary = Summarize({&mixed.rank_classes, &mixed.timeline, &job});

  ASSERT_EQ(summary.stages.size(), 2U);
  EXPECT_EQ(summary.stages[0].Label(), "rank 0 of 2, H100");
  EXPECT_EQ(summary.stages[1].Label(), "rank 1 of 2, A100-40GB");
  EXPECT_EQ(summary.stages[0].memory.usable_bytes, 2 * summary.stages[1].memory.usable_bytes);
  EXPECT_EQ(summary.Fullest(), &summary.stages[1]);
  EXPECT_EQ(*summary.memory_size_bytes, summary.stages[1].memory.usable_bytes);
  const double seconds = static_cast<double>(summary.step_ps) * 1e-12;
  EXPECT_NEAR(summary.figures->model->share,
              summary.figures->model->flops / seconds / ((989.4 + 312) * 1e12), 1e-9);
}

// Four nodes of one replica each: every data-parallel group has a member on every node, so none is
// spared and all ranks stay alike. Where shards lie in pairs of nodes, there are those of the slow
// pair and the rest, and a group of replicas joins the first, or the second, node of every pair:
// of these one has the slow node. Two times two.
TEST(MixedJobTest, AFaultUnfoldsOnlyAsFarAsItMust) {
  Plan copies;
  copies.tp = 8;
  copies.dp = 4;
  const NetworkFaults faults = {.slow_nodes = {{1, 0.5}}};
  EXPECT_EQ(Simulated(JobOf(copies)).rank_classes.classes.size(), 1U);
  const Simulation whole = Simulated(JobOf(copies), {.faults = faults});
  EXPECT_EQ(whole.rank_classes.classes.size(), 1U);
  EXPECT_GT(whole.step_ps(), Simulated(JobOf(copies)).step_ps());

  Plan sharded = copies;
  sharded.dp = 8;
  sharded.sharding = workload::Sharding::kParameters;
  sharded.shard_ranks = 2;
  const Simulation pairs = Simulated(JobOf(sharded), {.faults = faults});
  EXPECT_EQ(pairs.rank_classes.classes.size(), 4U);
}

TEST(MixedJobTest, WhatDiffersIsSaid) {
  const Job job = WithOther(WithOther(JobOf(Copies(16)), 3, 3, "H20"), 8, 15, "H200");
  EXPECT_EQ(WhatIfs(job, {.jitter = 0.02,
                          .slow_ranks = {{.rank = 7, .factor = 1.3}},
                          .faults = {.failed_nics = {{1, 2}, {1, 3}}, .slow_nodes = {{0, 0.5}}}}),
            (std::vector<std::string>{"rank 3 has H20", "ranks 8-15 have H200",
                                      "rank 7 takes 1.3 times as long",
                                      "kernel times spread by 0.02", "node 1 has 6 of 8 NICs",
                                      "the NICs of node 0 carry 0.5 of what they should"}));
  EXPECT_TRUE(WhatIfs(JobOf(Copies(2)), {}).empty());
}

std::vector<Plan> Plans() {
  std::vector<Plan> plans(4, Plan{});
  plans[0].dp = 32;
  plans[1].tp = 4;
  plans[1].pp = 2;
  plans[1].dp = 4;
  plans[2].dp = 32;
  plans[2].sharding = workload::Sharding::kParameters;
  plans[2].shard_ranks = 8;
  plans[3].tp = 8;
  plans[3].pp = 4;
  return plans;
}

/// Some ranks with other GPUs and one fault of each kind.
void AddDifferences(Job& job, SimulationOptions& options) {
  const int first = *rc::gen::inRange(0, job.gpus);
  const int last = *rc::gen::inRange(first, job.gpus);
  job = WithOther(job, first, last, *rc::gen::element("A100-40GB", "H20", "V100"));
  const int nodes = job.gpus / 8;
  const auto node = [nodes] { return static_cast<std::uint32_t>(*rc::gen::inRange(0, nodes)); };
  if (*rc::gen::arbitrary<bool>()) {
    options.faults.failed_nics = {{node(), 3}, {node(), 4}};
  }
  if (*rc::gen::arbitrary<bool>()) {
    options.faults.slow_nodes = {{node(), 0.3}};
  }
}

RC_GTEST_PROP(MixedJobProperty, FoldedAndUnfoldedRanksEndTogether, ()) {
  Job job = JobOf(*rc::gen::elementOf(Plans()));
  SimulationOptions options = {
      .overlap =
          *rc::gen::element(OverlapKind::kNone, OverlapKind::kAnalytic, OverlapKind::kModel)};
  AddDifferences(job, options);
  const Simulation folded = Simulate(job, HalfAsFast(), options).value();
  options.folds = false;
  const Simulation whole = Simulate(job, HalfAsFast(), options).value();

  RC_ASSERT(folded.step_ps() == whole.step_ps());
  for (Rank rank = 0; rank < static_cast<Rank>(job.gpus); ++rank) {
    RC_ASSERT(folded.timeline.EndOf(folded.rank_classes.class_of_rank[rank]) ==
              whole.timeline.EndOf(whole.rank_classes.class_of_rank[rank]));
  }
}

// Limits only take away, and nothing here gets faster by it: kernels do not disturb each other.
RC_GTEST_PROP(MixedJobProperty, AFaultNeverShortensTheStep, ()) {
  const Job job = JobOf(*rc::gen::elementOf(Plans()));
  SimulationOptions options = {.overlap = OverlapKind::kNone};
  const std::int64_t before = Simulate(job, HalfAsFast(), options).value().step_ps();
  const auto node = static_cast<std::uint32_t>(*rc::gen::inRange(0, job.gpus / 8));
  options.faults.slow_nodes = {{node, *rc::gen::element(0.1, 0.5, 0.9)}};
  RC_ASSERT(Simulate(job, HalfAsFast(), options).value().step_ps() >= before);
}

}  // namespace
}  // namespace orrery::simulate
