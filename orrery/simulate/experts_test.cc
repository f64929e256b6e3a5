#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/base/data_type.h"
#include "orrery/kernel/model_set.h"
#include "orrery/simulate/explain/breakdown.h"
#include "orrery/simulate/explain/memory_timeline.h"
#include "orrery/simulate/simulation.h"
#include "orrery/workload/generate/jobs_test.h"
#include "orrery/workload/job/gate_loads.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/model/models_test.h"
#include "orrery/workload/plan/plan.h"

// Properties of steps with experts, whatever their numbers: the shipped models estimate kernels.

namespace orrery::simulate {
namespace {

using workload::Experts;
using workload::Job;
using workload::Plan;
using workload::TokenDispatch;
using workload::Transformer;

struct ExpertsCase {
  Plan plan = {.dp = 8, .ep = 8};
  std::int64_t per_token = 2;
  std::int64_t sequence = 2048;
  bool is_fp8 = false;
  bool is_loop = false;
};

Job JobOf(const ExpertsCase& of) {
  Transformer model =
      workload::Gpt({.hidden = 2048, .layers = 2, .heads = 16, .vocabulary = 32000});
  model.blocks[0].block.mlp =
      Experts{.count = 32, .per_token = of.per_token, .expert = {.width = 1024, .is_gated = true}};
  Job job = workload::JobOf(
      {.model = {"experts", model}, .plan = of.plan, .sequence = of.sequence, .microbatches = 2});
  job.training.precision.gemm_type = of.is_fp8 ? DataType::kFp8 : DataType::kBf16;
  job.framework.launches_each_expert = of.is_loop;
  job.framework.fuses_permute = true;
  EXPECT_TRUE(workload::ResolveTokenRouting("", job).has_value());
  return job;
}

Simulation Simulated(const ExpertsCase& of) {
  static const kernel::ModelSet models = kernel::ShippedModels().value();
  return Simulate(JobOf(of), models).value();
}

std::int64_t StepPs(const ExpertsCase& of) {
  return Simulated(of).step_ps();
}

/// Dispatchers, formats and ways of launching; each property must hold for all of them.
std::vector<ExpertsCase> Cases() {
  std::vector<ExpertsCase> cases;
  for (const TokenDispatch dispatch : {TokenDispatch::kAllToAll, TokenDispatch::kFlex}) {
    for (const bool is_fp8 : {false, true}) {
      for (const bool is_loop : {false, true}) {
        cases.push_back({.plan = {.dp = 8, .ep = 8, .dispatch = dispatch},
                         .is_fp8 = is_fp8,
                         .is_loop = is_loop});
      }
    }
  }
  return cases;
}

TEST(ExpertsOfAStep, MoreExpertsOfATokenNeverShortenIt) {
  for (ExpertsCase of : Cases()) {
    std::int64_t before = 0;
    for (const std::int64_t per_token : {1, 2, 3, 4, 6, 8}) {
      of.per_token = per_token;
      const std::int64_t step = StepPs(of);
      EXPECT_GT(step, before) << per_token << " experts";
      before = step;
    }
  }
}

TEST(ExpertsOfAStep, MoreTokensNeverShortenIt) {
  for (ExpertsCase of : Cases()) {
    std::int64_t before = 0;
    for (const std::int64_t sequence : {512, 1024, 2048, 3072, 4096, 8192}) {
      of.sequence = sequence;
      const std::int64_t step = StepPs(of);
      EXPECT_GT(step, before) << sequence << " tokens";
      before = step;
    }
  }
}

TEST(ExpertsOfAStep, AnEvenRouterIsNeverSlower) {
  for (ExpertsCase of : Cases()) {
    std::int64_t before = 0;
    for (const double zipf : {0.0, 0.3, 0.7, 1.2}) {
      of.plan.routing.zipf = zipf;
      const std::int64_t step = StepPs(of);
      EXPECT_GE(step, before) << "zipf " << zipf;
      before = step;
    }
  }
}

TEST(ExpertsOfAStep, PartsAddUp) {
  for (ExpertsCase of : Cases()) {
    for (const double zipf : {0.0, 0.7}) {
      of.plan.routing.zipf = zipf;
      const Simulation simulation = Simulated(of);
      std::int64_t sum = 0;
      for (const TimeShare& share :
           BreakdownOf(simulation.rank_classes, simulation.timeline, 0).shares) {
        sum += share.ps;
      }
      EXPECT_EQ(sum, simulation.step_ps());
    }
  }
}

// 32 experts on 1, 2, 4 and 8 ranks of a node: a rank keeps as many fewer, and nothing else grows.
TEST(ExpertsOfAStep, ARankKeepsFewerOfThemWhereMoreRanksShareThem) {
  std::int64_t before = 0;
  for (const int ep : {8, 4, 2, 1}) {
    const Simulation simulation = Simulated({.plan = {.dp = 8, .ep = ep}});
    const std::int64_t bytes = MemoryOf(simulation.rank_classes, simulation.timeline, 0).peak_bytes;
    EXPECT_GT(bytes, before) << ep;
    before = bytes;
  }
}

}  // namespace
}  // namespace orrery::simulate
