#include "orrery/simulate/scenario.h"

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/base/error.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/operator.h"
#include "orrery/simulate/simulation.h"
#include "orrery/trace/speedup.h"
#include "orrery/workload/generate/jobs_test.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/model/models_test.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::simulate {
namespace {

using trace::Part;
using workload::EqualCosts;
using workload::Job;

constexpr double kMicrosecond = 1e-6;

double SecondsOf(const std::string& text, const Scenario& scenario) {
  const EqualCosts costs;
  return ScenarioCosts(costs, scenario)
      .Predict(kernel::ParseOperator(text).value(), *hardware::FindGpu("H100"))
      .seconds;
}

// Two nodes: tensor parallelism inside them, data parallelism between them.
Job TwoNodes() {
  workload::Plan plan;
  plan.tp = 8;
  plan.dp = 2;
  return workload::JobOf(
      {.model = {"gpt",
                 workload::Gpt({.hidden = 1024, .layers = 4, .heads = 16, .vocabulary = 51200})},
       .plan = plan});
}

std::int64_t StepPs(const Scenario& scenario) {
  Job job = TwoNodes();
  SimulationOptions options;
  scenario.ApplyTo(options);
  scenario.ApplyTo(job);
  const EqualCosts costs;
  const Result<Simulation> simulation = Simulate(job, ScenarioCosts(costs, scenario), options);
  EXPECT_TRUE(simulation.has_value());
  return simulation ? simulation->step_ps() : 0;
}

TEST(ScenarioTest, AClassOfKernelsIsFasterAlone) {
  const Scenario scenario{.speedups = {{Part::kGemm, 4}}};
  EXPECT_DOUBLE_EQ(SecondsOf("gemm m=64 n=64 k=64 bf16", scenario), kMicrosecond / 4);
  EXPECT_DOUBLE_EQ(SecondsOf("rmsnorm rows=64 cols=64 bf16", scenario), kMicrosecond);
}

TEST(ScenarioTest, SpeedupsMultiply) {
  const Scenario scenario{.speedups = {{Part::kGemm, 4}, {Part::kCompute, 2}}};
  EXPECT_DOUBLE_EQ(SecondsOf("gemm m=64 n=64 k=64 bf16", scenario), kMicrosecond / 8);
  EXPECT_DOUBLE_EQ(SecondsOf("rmsnorm rows=64 cols=64 bf16", scenario), kMicrosecond / 2);
}

// A GEMM of 8192 cubed has 2730 FLOP for each byte, an H100 295: arithmetic alone bounds it, with
// twice as much of it, too. The reverse holds for a norm.
TEST(ScenarioTest, TheRooflineTellsWhatFlopsAndMemoryShorten) {
  const std::string gemm = "gemm m=8192 n=8192 k=8192 bf16";
  const std::string norm = "rmsnorm rows=8192 cols=8192 bf16";
  EXPECT_DOUBLE_EQ(SecondsOf(gemm, {.speedups = {{Part::kFlops, 2}}}), kMicrosecond / 2);
  EXPECT_DOUBLE_EQ(SecondsOf(gemm, {.speedups = {{Part::kMemory, 2}}}), kMicrosecond);
  EXPECT_DOUBLE_EQ(SecondsOf(norm, {.speedups = {{Part::kFlops, 2}}}), kMicrosecond);
  EXPECT_DOUBLE_EQ(SecondsOf(norm, {.speedups = {{Part::kMemory, 2}}}), kMicrosecond / 2);
}

TEST(ScenarioTest, TheNetworkIsNicsAndLinks) {
  Job job = TwoNodes();
  const double nics = job.cluster.nics.bandwidth.bytes_per_second;
  const double links = job.cluster.island.per_gpu.bytes_per_second;
  Scenario{.speedups = {{Part::kNics, 2}, {Part::kNetwork, 3}}}.ApplyTo(job);
  EXPECT_DOUBLE_EQ(job.cluster.nics.bandwidth.bytes_per_second, 6 * nics);
  EXPECT_DOUBLE_EQ(job.cluster.island.per_gpu.bytes_per_second, 3 * links);
}

TEST(ScenarioTest, PhrasesNameEachSpeedup) {
  const Scenario scenario{.speedups = {{Part::kGemm, 2}, {Part::kLinks, 1.5}}};
  EXPECT_EQ(scenario.SpeedupPhrases(),
            (std::vector<std::string>{"GEMMs and convolutions are 2 times as fast",
                                      "links between GPUs of a node are 1.5 times as fast"}));
}

RC_GTEST_PROP(ScenarioTest, NoSpeedupMakesAStepLonger, ()) {
  const auto part = *rc::gen::element(Part::kNetwork, Part::kNics, Part::kLinks, Part::kFlops,
                                      Part::kMemory, Part::kCompute, Part::kGemm, Part::kAttention,
                                      Part::kOptimizer, Part::kOther);
  const double factor = *rc::gen::element(1.1, 2.0, 10.0);
  RC_ASSERT(StepPs({.speedups = {{part, factor}}}) <= StepPs({}));
}

// Everything that takes time is at most `factor` times as fast: latencies stay.
RC_GTEST_PROP(ScenarioTest, NoStepGainsMoreThanItsParts, ()) {
  const double factor = *rc::gen::element(1.1, 2.0, 10.0);
  const Scenario all{.speedups = {{Part::kNetwork, factor}, {Part::kCompute, factor}}};
  RC_ASSERT(static_cast<double>(StepPs(all)) * factor >= static_cast<double>(StepPs({})) * 0.999);
}

}  // namespace
}  // namespace orrery::simulate
