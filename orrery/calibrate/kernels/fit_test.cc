#include "orrery/calibrate/kernels/fit.h"

#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/calibrate/kernels/evaluation.h"
#include "orrery/calibrate/kernels/generated_rows_test.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/efficiency.h"
#include "orrery/kernel/measured/measurement.h"
#include "orrery/kernel/model_set.h"
#include "orrery/kernel/operator.h"

namespace orrery::calibrate {
namespace {

using kernel::EfficiencyModel;
using kernel::Measurement;
using kernel::ModelSet;
using kernel::OperatorKind;
using kernel::Timing;

void NoProgress(std::size_t /*done*/, std::size_t /*total*/) {}

const hardware::Gpu& H200() {
  return *hardware::FindGpu("H200");
}

TEST(GroupMeasurements, SortsByGpuTimingAndKind) {
  std::vector<Measurement> rows = GeneratedRows(H200(), 2);
  rows.push_back(rows.front());
  rows.back().gpu = hardware::FindGpu("A100");
  rows.push_back(rows.front());
  rows.back().timing = Timing::kEager;
  const std::vector<MeasurementGroup> groups = GroupMeasurements(rows);
  ASSERT_EQ(groups.size(), 4);
  EXPECT_EQ(groups[0].gpu->name, "A100-80GB");
  EXPECT_EQ(groups[1].kind, OperatorKind::kGemm);
  EXPECT_EQ(groups[1].rows.size(), 2);
  EXPECT_EQ(groups[2].kind, OperatorKind::kElementwise);
  EXPECT_EQ(groups[3].timing, Timing::kEager);
}

TEST(FitModels, FindsTheEfficiencyOfGeneratedRows) {
  // Rows alternate between two kinds: of each five, one is held out for the judgement.
  std::vector<Measurement> rows;
  std::vector<Measurement> held_out;
  for (const Measurement& row : GeneratedRows(H200(), 150)) {
    (((rows.size() + held_out.size()) / 2) % 5 == 2 ? held_out : rows).push_back(row);
  }
  const Result<ModelSet> models = FitModels(rows, {.threads = 1}, NoProgress);
  ASSERT_TRUE(models.has_value());
  ASSERT_EQ(models->models().size(), 2);
  const KernelEvaluation evaluation = Summarize(EvaluateKernels(*models, held_out));
  EXPECT_EQ(evaluation.overall.rows, 60);
  EXPECT_LT(evaluation.overall.mape, 10);  // physics alone is off by a third
  for (const EfficiencyModel& model : models->models()) {
    EXPECT_EQ(model.domain().gpu, "H200");
    EXPECT_EQ(model.domain().rows, 120);
    EXPECT_GT(model.floor().seconds, 0);
    EXPECT_GE(model.deviation(), 0);
  }
}

TEST(FitModels, AGroupOfFewRowsHasNoModel) {
  const std::vector<Measurement> rows = GeneratedRows(H200(), static_cast<int>(kFewestRows) - 1);
  const Result<ModelSet> models = FitModels(rows, {.threads = 1}, NoProgress);
  ASSERT_TRUE(models.has_value());
  EXPECT_TRUE(models->IsEmpty());
}

TEST(FitModels, TheSameRowsGiveTheSameBytesForAnyNumberOfThreads) {
  const std::vector<Measurement> rows = GeneratedRows(H200(), 40);
  const auto bytes = [&](int threads) {
    return FitModels(rows, {.threads = threads}, NoProgress)->models().front().Encode();
  };
  EXPECT_EQ(bytes(1), bytes(2));
}

}  // namespace
}  // namespace orrery::calibrate
