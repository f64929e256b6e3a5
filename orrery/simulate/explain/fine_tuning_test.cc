#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/simulate/explain/memory_timeline.h"
#include "orrery/simulate/simulation.h"
#include "orrery/workload/generate/jobs_test.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/model/models_test.h"
#include "orrery/workload/plan/plan.h"

// Savings and costs of training a part of a model and of moving activations.

namespace orrery::simulate {
namespace {

using workload::Job;

struct Cost {
  std::int64_t step_ps = 0;
  std::int64_t peak_bytes = 0;
};

Cost CostOf(const Job& job) {
  const workload::CountingCosts costs;
  const Simulation step = Simulate(job, costs).value();
  return {step.step_ps(),
          MemoryAnswerOf(step.rank_classes, step.timeline, job).stages.front().peak_bytes};
}

Job Llama(workload::Recompute recompute) {
  workload::Plan plan;
  plan.recompute = recompute;
  return workload::JobOf(
      {.model = {"llama", workload::Llama3()}, .plan = plan, .sequence = 4096, .microbatches = 2});
}

TEST(FineTuning, AdaptersNeedLessThanAllAndFourBitsLessThanSixteen) {
  for (const auto recompute : {workload::Recompute::kNothing, workload::Recompute::kFull}) {
    Job job = Llama(recompute);
    const Cost full = CostOf(job);
    job.training.adapter_rank = 64;
    const Cost lora = CostOf(job);
    job.training.base_format = workload::BaseFormat::kNf4;
    const Cost qlora = CostOf(job);
    EXPECT_LT(lora.peak_bytes, full.peak_bytes);
    EXPECT_LT(qlora.peak_bytes, lora.peak_bytes);
    EXPECT_LT(lora.step_ps, full.step_ps);
    EXPECT_GE(qlora.step_ps, lora.step_ps);
  }
}

TEST(FineTuning, MoreOnTheHostIsLessMemoryAndNoLessTime) {
  for (const auto recompute : {workload::Recompute::kNothing, workload::Recompute::kFull}) {
    Job job = Llama(recompute);
    Cost before = CostOf(job);
    for (const double ratio : {0.25, 0.5, 0.75, 1.0}) {
      job.plan.offload_activations = ratio;
      const Cost now = CostOf(job);
      EXPECT_LE(now.peak_bytes, before.peak_bytes) << ratio;
      EXPECT_GE(now.step_ps, before.step_ps) << ratio;
      before = now;
    }
    job.plan.offload_activations = 0;
    EXPECT_LT(before.peak_bytes, CostOf(job).peak_bytes);
  }
}

TEST(FineTuning, MoreFrozenBlocksAreLessTimeAndMemory) {
  Job job = Llama(workload::Recompute::kNothing);
  Cost before = CostOf(job);
  for (const std::int64_t frozen : {1, 8, 16, 31}) {
    job.training.frozen_blocks = frozen;
    const Cost now = CostOf(job);
    EXPECT_LT(now.peak_bytes, before.peak_bytes) << frozen;
    EXPECT_LT(now.step_ps, before.step_ps) << frozen;
    before = now;
  }
}

}  // namespace
}  // namespace orrery::simulate
