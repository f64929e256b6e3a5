#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/base/error.h"
#include "orrery/search/memory_bound.h"
#include "orrery/search/pass_bound.h"
#include "orrery/search/plan_evaluation.h"
#include "orrery/search/plan_results.h"
#include "orrery/search/small_spaces_test.h"
#include "orrery/search/space.h"
#include "orrery/search/stage_costs.h"
#include "orrery/search/step_bound.h"
#include "orrery/simulate/simulation.h"
#include "orrery/workload/plan/pipeline_schedule.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::search {
namespace {

using workload::PipelinePass;
using workload::PipelineSchedule;

// A plan of every key that changes times, by random.
std::vector<std::string> RandomPlan(bool has_experts) {
  const auto one_of = [](const std::string& key, std::vector<std::string> values) {
    return "plan." + key + "=" + *rc::gen::elementOf(std::move(values));
  };
  std::vector<std::string> plan{
      one_of("tp", {"1", "2", "4", "8", "16"}),
      one_of("pp", {"1", "2", "4", "8"}),
      one_of("cp", {"1", "1", "2"}),
      one_of("context", {"ring", "all_gather", "ulysses"}),
      one_of("sequence_parallel", {"true", "false"}),
      one_of("sharding", {"none", "zero1", "zero2", "zero3", "shard_grad_op", "hsdp"}),
      one_of("reshard", {"always", "never", "default"}),
      one_of("offload_optimizer", {"false", "false", "true"}),
      one_of("recompute", {"none", "selective", "operators", "full"}),
      one_of("recompute_parts", {"[]", "[norms]", "[activations]"}),
      one_of("recompute_share", {"1", "0.5"}),
      one_of("pipeline_is_innermost", {"false", "true"})};
  const std::string schedule = *rc::gen::elementOf(std::vector<std::string>{
      "gpipe", "1f1b", "interleaved", "zb-h1", "zb-2p", "zb-v", "dualpipe"});
  plan.push_back("plan.schedule=" + schedule);
  plan.push_back(schedule == "interleaved" ? "plan.chunks=2" : "plan.chunks=1");
  if (has_experts) {
    plan.push_back(one_of("ep", {"1", "2", "4"}));
    plan.push_back(one_of("dispatch", {"all_to_all", "all_gather", "flex"}));
    plan.push_back(one_of("token_imbalance", {"1", "1.3"}));
  }
  plan.push_back("training.micro_batch=" +
                 *rc::gen::elementOf(std::vector<std::string>{"1", "2", "4"}));
  return plan;
}

RC_GTEST_PROP(BoundProperty, NoSimulatedPlanIsBelowItsBounds, ()) {
  const bool has_experts = *rc::gen::arbitrary<bool>();
  const auto framework = *rc::gen::elementOf(std::vector<std::string>{
      "megatron-lm", "nemo", "torch-fsdp", "deepspeed", "torchtitan", "nanotron"});
  // One dimension with one value: the space is the plan itself.
  const Result<Space> space =
      SmallSpace(SmallJobText(framework, has_experts, "search: {plan.expert_tp: [1]}\n"),
                 RandomPlan(has_experts));
  RC_PRE(space.has_value());
  const Result<workload::Job> job = space->JobOf(0);
  RC_PRE(job.has_value());
  const RooflineCosts costs;
  StageCosts stages(costs);
  const Result<const StagedPlan*> plan = stages.Of(*job, 0);
  RC_ASSERT(plan.has_value());
  const Result<SimulatedPlan> simulated = SimulatePlan(*job, costs, {});
  RC_ASSERT(simulated.has_value());
  RC_ASSERT(StepBoundPs(**plan) <= simulated->step_ps);
  const std::int64_t passes_ps = PassBound().Ps(**plan);
  RC_ASSERT(passes_ps <= simulated->step_ps);
  RC_ASSERT(MemoryBound().Bytes(**plan) <= simulated->memory_bytes);
  RC_TAG(std::string(workload::ScheduleName(job->plan.schedule)));
  // A bound that is far off is no help.
  RC_CLASSIFY(StepBoundPs(**plan) * 10 > simulated->step_ps * 8, "above 80 % of the step");
  RC_CLASSIFY(passes_ps * 10 > simulated->step_ps * 8, "above 80 % of the step, by passes");
  RC_CLASSIFY(passes_ps > StepBoundPs(**plan), "closer by passes");
}

// 1F1B of two stages: the first holds two micro-batches when its first backward pass begins (one
// beside that of the pass), the last one holds none beside it.
TEST(FullestMomentsTest, FirstStageHoldsAsManyAsThereAreStages) {
  const workload::PipelineShape shape{PipelineSchedule::k1f1b, 2, 1, 8};
  std::int64_t most = 0;
  for (const InFlight& moment : FullestMoments(shape, 0)) {
    most = std::max<std::int64_t>(most, moment.kept[0]);
  }
  EXPECT_EQ(most, 1);
  for (const InFlight& moment : FullestMoments(shape, 1)) {
    EXPECT_EQ(moment.kept[0], 0);
  }
}

// Of gpipe the last forward pass begins with all others kept.
TEST(FullestMomentsTest, GpipeKeepsAll) {
  const std::vector<InFlight> moments = FullestMoments({PipelineSchedule::kGpipe, 2, 1, 8}, 0);
  ASSERT_EQ(moments.size(), 2U);
  EXPECT_EQ(moments[0].step.pass, PipelinePass::kForward);
  EXPECT_EQ(moments[0].kept[0], 7);
  EXPECT_EQ(moments[1].kept[0], 7);
}

}  // namespace
}  // namespace orrery::search
