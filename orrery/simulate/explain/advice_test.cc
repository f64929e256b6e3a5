#include "orrery/simulate/explain/advice.h"

#include <cstdint>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/hardware/cluster.h"
#include "orrery/simulate/explain/breakdown.h"
#include "orrery/simulate/explain/summary.h"
#include "orrery/simulate/simulation.h"
#include "orrery/workload/generate/jobs_test.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/model/models_test.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::simulate {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::Not;
using workload::Job;

Job TensorParallelJob() {
  workload::Transformer model =
      workload::Gpt({.hidden = 1024, .layers = 8, .heads = 16, .vocabulary = 51200});
  workload::Plan plan;
  plan.tp = 4;
  return workload::JobOf(
      {.model = {"gpt", model}, .plan = plan, .micro_batch = 2, .microbatches = 4});
}

// 1000 ps, of which `share` loses `ps`.
StepSummary Losing(TimeKind kind, const std::string& what, std::int64_t ps) {
  StepSummary summary;
  summary.step_ps = 1000;
  summary.breakdown.step_ps = 1000;
  summary.breakdown.shares = {{TimeKind::kCompute, "products", 1000 - ps}, {kind, what, ps}};
  return summary;
}

Result<VariantStep> Unchanged(const Job& /*job*/, const SimulationOptions& /*options*/) {
  return VariantStep{.step_ps = 1000};
}

Advice Try(const Job& job, const StepSummary& summary, const SimulateVariant& simulate,
           const SimulationOptions& options = {}) {
  return TryChanges(job, options, summary, JobScope::kWhole, simulate);
}

auto Setting(const std::string& setting) {
  return Field(&TriedChange::setting, setting);
}

TEST(AdviceTest, WhatIsOnIsNotTried) {
  Job job = TensorParallelJob();
  const StepSummary summary = Losing(TimeKind::kTransfer, "tp", 300);
  EXPECT_THAT(Try(job, summary, Unchanged).changes,
              Contains(Setting("plan.sequence_parallel=true")));
  job.plan.sequence_parallel = true;
  EXPECT_THAT(Try(job, summary, Unchanged).changes,
              Not(Contains(Setting("plan.sequence_parallel=true"))));
}

// 990 of 1000 ps are a gain of 1 %, which is the least; 991 are less.
TEST(AdviceTest, ARecommendationGainsOnePercent) {
  const auto taking = [](std::int64_t step_ps) {
    return [step_ps](const Job& job, const SimulationOptions&) -> Result<VariantStep> {
      return VariantStep{.step_ps = job.plan.sequence_parallel ? step_ps : 1005};
    };
  };
  const StepSummary summary = Losing(TimeKind::kTransfer, "tp", 300);
  const Advice good = Try(TensorParallelJob(), summary, taking(990));
  ASSERT_FALSE(good.changes.empty());
  EXPECT_EQ(AdviceSentences(good).front(),
            "Sequence parallelism: the step would be 1.0 % shorter, 9.9e-10 s "
            "(plan.sequence_parallel=true).");
  const Advice useless = Try(TensorParallelJob(), summary, taking(991));
  EXPECT_EQ(AdviceSentences(useless).size(), 1U);
  EXPECT_THAT(AdviceSentences(useless).front(),
              ::testing::StartsWith("No gain: sequence parallelism (0.9 % shorter), "));
}

TEST(AdviceTest, WhatDoesNotFitIsNotRecommended) {
  const Advice advice = Try(TensorParallelJob(), Losing(TimeKind::kTransfer, "tp", 300),
                            [](const Job&, const SimulationOptions&) -> Result<VariantStep> {
                              return VariantStep{.step_ps = 500, .fits = false};
                            });
  ASSERT_FALSE(advice.changes.empty());
  EXPECT_FALSE(advice.changes.front().IsWorthwhile());
}

// Twice the samples in 1800 ps: a sample takes 900 / 1000 of its time.
TEST(AdviceTest, ALargerBatchIsComparedBySample) {
  const Advice advice =
      Try(TensorParallelJob(), Losing(TimeKind::kOptimizer, "", 300),
          [](const Job& job, const SimulationOptions&) -> Result<VariantStep> {
            return VariantStep{.step_ps = job.training.global_batch == 16 ? 1800 : 1000};
          });
  ASSERT_THAT(advice.changes, ElementsAre(Setting("training.global_batch=16")));
  EXPECT_DOUBLE_EQ(advice.changes.front().gain, 0.1);
}

// Twice the samples in 2120 ps: a sample takes 1060 / 1000 of its time, the step 2.12 times.
TEST(AdviceTest, AUselessLargerBatchSaysThatItIsComparedBySample) {
  const Advice advice =
      Try(TensorParallelJob(), Losing(TimeKind::kOptimizer, "", 300),
          [](const Job& job, const SimulationOptions&) -> Result<VariantStep> {
            return VariantStep{.step_ps = job.training.global_batch == 16 ? 2120 : 1000};
          });
  EXPECT_THAT(AdviceSentences(advice),
              ElementsAre("No gain: twice the global batch (6.0 % longer per sample)."));
}

// No network helps against ranks that come late.
TEST(AdviceTest, NothingIsRecommendedAgainstWaiting) {
  Job job = TensorParallelJob();
  job.cluster = *hardware::FindCluster("DGX H100");
  job.cluster.island.gpus = 2;
  EXPECT_THAT(Try(job, Losing(TimeKind::kWait, "all", 300), Unchanged).changes, IsEmpty());
  EXPECT_THAT(Try(job, Losing(TimeKind::kTransfer, "dp", 300), Unchanged).changes,
              Contains(Setting("cluster.nics.gbits_per_second=800")));
}

// Without rank 1 the step takes 800, without rank 2 as long as ever: rank 1 is the cause alone.
TEST(AdviceTest, ASlowRankThatBindsIsNamed) {
  const SimulationOptions options{.slow_ranks = {{1, 1.3}, {2, 1.1}}};
  const auto simulate = [](const Job&, const SimulationOptions& changed) -> Result<VariantStep> {
    bool has_first = false;
    for (const SlowRank& slow : changed.slow_ranks) {
      has_first = has_first || slow.rank == 1;
    }
    return VariantStep{.step_ps = has_first ? 1000 : 800};
  };
  const StepSummary summary = Losing(TimeKind::kWait, "dp", 10);
  const Advice advice = Try(TensorParallelJob(), summary, simulate, options);
  EXPECT_EQ(advice.causes.size(), 3U);  // each, and both
  EXPECT_EQ(CauseSentence(advice),
            "Rank 1 takes 1.3 times as long: without that the step would be "
            "20 % shorter, 8e-10 s. ");
}

// Two ranks that are equally slow gain only together; a fault that costs nothing is no cause.
TEST(AdviceTest, CausesAreNamedTogetherWhereNoneCountsAlone) {
  SimulationOptions options{.slow_ranks = {{1, 1.3}, {2, 1.3}}};
  const auto simulate = [](const Job&, const SimulationOptions& changed) -> Result<VariantStep> {
    return VariantStep{.step_ps = changed.slow_ranks.empty() ? 900 : 1000};
  };
  const StepSummary summary = Losing(TimeKind::kWait, "dp", 10);
  EXPECT_THAT(CauseSentence(Try(TensorParallelJob(), summary, simulate, options)),
              ::testing::StartsWith(
                  "Rank 1 takes 1.3 times as long and rank 2 takes 1.3 times as long: without"));
  EXPECT_EQ(CauseSentence(Try(TensorParallelJob(), summary, Unchanged, options)), "");
}

}  // namespace
}  // namespace orrery::simulate
