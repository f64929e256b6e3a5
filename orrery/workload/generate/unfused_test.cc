#include <vector>

#include <gtest/gtest.h>

#include "orrery/base/data_type.h"
#include "orrery/kernel/work.h"
#include "orrery/workload/generate/jobs_test.h"
#include "orrery/workload/generate/layer_op.h"
#include "orrery/workload/generate/layer_writer.h"
#include "orrery/workload/generate/program_counts_test.h"
#include "orrery/workload/generate/small_jobs_test.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::workload {
namespace {

double BytesOf(const std::vector<LayerOp>& steps) {
  double bytes = 0;
  for (const LayerOp& step : steps) {
    bytes += step.op ? kernel::WorkOf(*step.op).Bytes() : 0;
  }
  return bytes;
}

MicrobatchShape Bf16Shape() {
  MicrobatchShape shape;
  shape.element_bytes = 2;
  shape.type = DataType::kBf16;
  return shape;
}

// Forward, bytes read and written of an element: 2 + 4, 4 + 4, 4, 4 + 4, 4 + 2, 2 + 2; and the mean
// of each row.
TEST(UnfusedTest, ANormMovesEachElementSixTimesForward) {
  const std::vector<LayerOp> steps = UnfusedRmsNorm(Pass::kForward, {10, 100}, Bf16Shape());
  EXPECT_EQ(steps.size(), 6);
  EXPECT_EQ(BytesOf(steps), 36'000 + 4 * 10);
}

// Backward: 4 + 2 and 2 for the weight, 2 + 2 and 2 + 4 to the product in fp32, 4 + 4, 8 + 4 and 4
// through it, 4 + 4 of the mean, 4 + 4, 4 + 4 and 8 + 4 through the square, 8 + 4 and 4 + 2
// together. Sums of each column for the weight, and of each row for the root.
TEST(UnfusedTest, ANormMovesEachElementThirteenTimesBackward) {
  const std::vector<LayerOp> steps = UnfusedRmsNorm(Pass::kBackward, {10, 100}, Bf16Shape());
  EXPECT_EQ(steps.size(), 13);
  EXPECT_EQ(BytesOf(steps), 96'000 + 2 * 100 + 4 * 10);
}

// Two products, half an element negated, both halves put together, a sum of two.
TEST(UnfusedTest, RotaryPositionsAreFiveKernelsForward) {
  EXPECT_EQ(BytesOf(UnfusedRope(Pass::kForward, {10, 100}, Bf16Shape())), 4000 * 3 + 2000 + 6000);
}

// A layer of Llama: two sums forward; backward one for queries, keys, values, gate and up each.
// The embedding and the head add one, the loss three small ones.
TEST(UnfusedTest, EachMatrixSumsItsInputsGradientOverTensorRanks) {
  Transformer model = SmallGpt();
  Block& block = model.blocks[0].block;
  block.self.has_rope = true;
  std::get<FeedForward>(block.mlp).is_gated = true;
  Plan plan;
  plan.tp = 2;
  Job job = JobOf({.model = {"small", model}, .plan = plan});
  EXPECT_EQ(Count(FirstProgram(job), {GroupRole::kTensor}).messages, 4 * kLayers + 5);
  job.framework.has_unfused_layers = true;
  EXPECT_EQ(Count(FirstProgram(job), {GroupRole::kTensor}).messages, 7 * kLayers + 5);
}

TEST(UnfusedTest, ThreeGradientsAreTwoSums) {
  EXPECT_EQ(SumsOfBranches(3, {10, 100}, Bf16Shape()).size(), 2);
  EXPECT_TRUE(SumsOfBranches(1, {10, 100}, Bf16Shape()).empty());
}

// 64 · 8 parameters of two bytes, read and written, before each pass and behind the last.
TEST(UnfusedTest, ParametersAreCopiedBeforeEachPassAndGradientsAfterwards) {
  UnitOps unit{.forward = {LayerOp{.name = "norm"}},
               .recompute = {},
               .backward = {LayerOp{.name = "norm"}}};
  AddCopiesOfShards(512, 512, Bf16Shape(), unit);
  EXPECT_EQ(unit.forward.front().name, "copy out parameters");
  EXPECT_EQ(unit.forward.size(), 2);
  EXPECT_EQ(BytesOf(unit.backward), 2 * 2048);
}

}  // namespace
}  // namespace orrery::workload
