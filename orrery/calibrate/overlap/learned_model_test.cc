#include "orrery/overlap/learned_model.h"

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/calibrate/overlap/evaluation.h"
#include "orrery/hardware/gpu.h"
#include "orrery/learn/model_file.h"
#include "orrery/overlap/analytic_model.h"
#include "orrery/overlap/concurrent_kernels.h"
#include "orrery/overlap/features.h"
#include "orrery/overlap/pair_table.h"

namespace orrery::calibrate {
namespace {

using overlap::AnalyticModel;
using overlap::Arrival;
using overlap::AsPlanned;
using overlap::KernelOverlap;
using overlap::LearnedModel;
using overlap::Machine;
using overlap::MachineOf;
using overlap::MeasuredPair;
using overlap::Mode;
using overlap::Pair;
using overlap::Slowdown;

// Pairs whose slowdown follows from the width alone, and whose communication waits for half of what
// is left when it comes second.
std::vector<MeasuredPair> MadeUpPairs() {
  std::mt19937 random(7);
  std::vector<MeasuredPair> rows;
  for (int i = 0; i < 600; ++i) {
    MeasuredPair& row = rows.emplace_back();
    row.machine = MachineOf(*hardware::FindGpu("H200"));
    row.gpu = "H200";
    row.kernel = "kernel " + std::to_string(i / 6);
    row.name = row.kernel;
    const double alone_us = 20 + static_cast<double>(random() % 200);
    const auto width = static_cast<std::int64_t>(1 + random() % 48);
    row.pair.compute = {.kind = "gemm", .alone_us = alone_us, .flops = 1e9, .bytes = 1e6};
    row.pair.compute.flops_peak = 1e15;
    row.pair.compute.shape = {
        .blocks = 1000, .threads = 128, .registers = 64, .shared_bytes = 1024};
    row.pair.communication.shape = {
        .blocks = width, .threads = 544, .registers = 96, .shared_bytes = 82'240};
    row.pair.communication.payload_gbps = 10.0 * static_cast<double>(width);
    row.together_us = alone_us * (1 + static_cast<double>(width) / 48);
    row.communication_together_gbps = row.pair.communication.payload_gbps / 1.2;
    if (i % 3 == 0) {
      row.mode = Mode::kArrival;
      row.compute_is_first = true;
      row.offset_us = alone_us / 4;
      row.communication_delay_us = 0.375 * alone_us;
      row.communication_alone_us = row.communication_together_us = alone_us;
    }
  }
  return rows;
}

class LearnedModelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    rows_ = MadeUpPairs();
    for (const MeasuredPair& row : rows_) {
      all_.push_back(&row);
    }
  }

  std::vector<MeasuredPair> rows_;
  std::vector<const MeasuredPair*> all_;
};

TEST_F(LearnedModelTest, LearnsWhatTheWidthDoes) {
  const Result<LearnedModel> model = FitOverlap(all_, {.with_network = false});
  ASSERT_TRUE(model) << model.error().message();
  Pair pair = rows_[1].pair;
  pair.communication.shape.blocks = 24;
  pair.communication.payload_gbps = 240;
  const Slowdown slowdown = model->SlowdownOf(rows_[1].machine, pair);
  EXPECT_NEAR(slowdown.compute, 1.5, 0.1);
  EXPECT_NEAR(slowdown.communication, 1.2, 0.05);
}

TEST_F(LearnedModelTest, LeavesOtherGenerationsToArithmetic) {
  const Result<LearnedModel> model = FitOverlap(all_, {.with_network = false});
  ASSERT_TRUE(model) << model.error().message();
  const Machine other = MachineOf(*hardware::FindGpu("A100-80GB"));
  EXPECT_EQ(model->SlowdownOf(other, rows_[1].pair),
            AnalyticModel().SlowdownOf(other, rows_[1].pair));
}

TEST_F(LearnedModelTest, ReadsBackWhatItWrote) {
  const Result<LearnedModel> model = FitOverlap(all_, {.with_network = true});
  ASSERT_TRUE(model) << model.error().message();
  learn::ModelFile file;
  model->AddTo(file);
  const Result<LearnedModel> back = LearnedModel::From(file);
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(back->SlowdownOf(rows_[0].machine, rows_[0].pair),
            model->SlowdownOf(rows_[0].machine, rows_[0].pair));
}

TEST_F(LearnedModelTest, IsNeverFasterThanAlone) {
  for (MeasuredPair& row : rows_) {
    row.together_us = 0.8 * row.pair.compute.alone_us;
  }
  const Result<LearnedModel> model = FitOverlap(all_, {.with_network = false});
  ASSERT_TRUE(model) << model.error().message();
  EXPECT_GE(model->SlowdownOf(rows_[1].machine, rows_[1].pair).compute, 1);
}

TEST_F(LearnedModelTest, LearnsWhatKernelOverlapsCost) {
  // Made-up arrivals take as long as steady pairs of their width: 1 + 24 / 48.
  const Result<LearnedModel> model = FitOverlap(all_, {.with_network = false});
  ASSERT_TRUE(model) << model.error().message();
  Pair pair = rows_[0].pair;
  pair.communication.shape.blocks = 24;
  pair.communication.payload_gbps = 240;
  const double alone_us = pair.compute.alone_us;
  const KernelOverlap overlap{
      .compute_is_first = true, .offset_us = alone_us / 4, .communication_us = alone_us};
  EXPECT_NEAR(model->TogetherUs(rows_[0].machine, pair, overlap) / alone_us, 1.5, 0.15);
}

TEST_F(LearnedModelTest, CountsHalfAChanceOfAWaitAsHalfAWait) {
  // Every arrival is there twice: once it waits for half of what is left, once it does not wait.
  for (std::size_t i = 0; i < rows_.size(); i += 6) {
    rows_[i + 3] = rows_[i];
    rows_[i + 3].communication_delay_us = 0;
  }
  const Result<LearnedModel> model = FitOverlap(all_, {.with_network = false});
  ASSERT_TRUE(model) << model.error().message();
  const MeasuredPair& row = rows_[0];
  const double left_us = row.pair.compute.alone_us - row.offset_us;
  const Arrival arrival{.compute_is_first = true, .since_us = row.offset_us};
  EXPECT_NEAR(model->DelayUs(row.machine, AsPlanned(row.pair), arrival) / left_us, 0.25, 0.05);
}

TEST_F(LearnedModelTest, SimulatesOverlapsOfOtherGenerationsByArithmetic) {
  const Result<LearnedModel> model = FitOverlap(all_, {.with_network = false});
  ASSERT_TRUE(model) << model.error().message();
  const Machine other = MachineOf(*hardware::FindGpu("A100-80GB"));
  const Pair& pair = rows_[0].pair;
  // Communication is there before the kernel begins and stays longer than it.
  const KernelOverlap overlap{.compute_is_first = false, .offset_us = 10, .communication_us = 1e6};
  EXPECT_NEAR(model->TogetherUs(other, pair, overlap),
              pair.compute.alone_us * AnalyticModel().SlowdownOf(other, pair).compute, 1e-6);
}

TEST_F(LearnedModelTest, HoldsWholeKernelsOut) {
  const PairSplit split = SplitPairs(rows_, HeldOut::kKernel, 7);
  EXPECT_GT(split.test.size(), 60U);
  for (const MeasuredPair* test : split.test) {
    for (const MeasuredPair* train : split.train) {
      ASSERT_NE(test->kernel, train->kernel);
    }
  }
}

TEST_F(LearnedModelTest, BeatsTheBaselinesItIsShownWith) {
  const PairSplit split = SplitPairs(rows_, HeldOut::kKernel, 7);
  const Result<LearnedModel> model = FitOverlap(split.train, {.with_network = false});
  ASSERT_TRUE(model) << model.error().message();
  const OverlapEvaluation evaluation = EvaluateOverlap(*model, split.train, split.test);
  ASSERT_EQ(evaluation.predictors.size(), 5U);
  EXPECT_EQ(evaluation.predictors[3].name, "no slowdown");
  EXPECT_LT(evaluation.predictors[0].duration.mape, evaluation.predictors[3].duration.mape / 2);
  EXPECT_GT(evaluation.delays.waited, 0U);
}

}  // namespace
}  // namespace orrery::calibrate
