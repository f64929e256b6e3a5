#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/data_type.h"
#include "orrery/calibrate/kernels/fit.h"
#include "orrery/calibrate/kernels/generated_rows_test.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/measured/measurement.h"
#include "orrery/kernel/model_set.h"
#include "orrery/kernel/operator.h"

namespace orrery::calibrate {
namespace {

using kernel::Key;
using kernel::Measurement;
using kernel::ModelSet;
using kernel::Operator;
using kernel::OperatorKind;
using kernel::ParseSiblingLevels;
using kernel::SiblingLevel;
using kernel::SiblingLevels;
using kernel::SiblingLevelsText;
using kernel::Timing;

const hardware::Gpu& Named(std::string_view name) {
  return *hardware::FindGpu(name);
}

/// Products and streams of an H200.
const ModelSet& FittedModels() {
  static const ModelSet models =
      *FitModels(GeneratedRows(Named("H200"), 40), {.threads = 1}, [](std::size_t, std::size_t) {});
  return models;
}

Operator Product(std::int64_t side) {
  return Operator(OperatorKind::kGemm, DataType::kBf16)
      .Set(Key::kM, side)
      .Set(Key::kN, side)
      .Set(Key::kK, side);
}

/// Products on a GPU that take `slower` times what the models say.
std::vector<Measurement> SlowerRows(const hardware::Gpu& gpu, int count, double slower) {
  std::vector<Measurement> rows;
  for (int i = 0; i < count; ++i) {
    const Operator op = Product(std::int64_t{256} * (i + 1));
    rows.push_back(
        {.op = op, .gpu = &gpu, .seconds = slower * FittedModels().Predict(op, gpu).seconds});
  }
  return rows;
}

TEST(SiblingLevels, FindsHowMuchSlowerAGpuIsThanItsSiblingsSay) {
  const auto levels = FitSiblingLevels(FittedModels(), SlowerRows(Named("MI210"), 10, 1.3));
  ASSERT_EQ(levels.size(), 1);
  EXPECT_EQ(levels[0].gpu, "MI210");
  EXPECT_EQ(levels[0].kind, OperatorKind::kGemm);
  EXPECT_EQ(levels[0].type, DataType::kBf16);
  EXPECT_EQ(levels[0].rows, 10);
  EXPECT_NEAR(levels[0].factor_of_timing[static_cast<std::size_t>(Timing::kKernels)], 1.3, 1e-9);
}

TEST(SiblingLevels, ShiftOnlyTheirOwnGpuAndKindAndType) {
  ModelSet models = FittedModels();
  models.SetLevels(FitSiblingLevels(models, SlowerRows(Named("MI210"), 10, 1.3)));
  const Operator op = Product(777);
  EXPECT_NEAR(models.Predict(op, Named("MI210")).seconds,
              1.3 * FittedModels().Predict(op, Named("MI210")).seconds, 1e-12);
  const Operator stream =
      Operator(OperatorKind::kElementwise, DataType::kBf16).Set(Key::kN, 1 << 20);
  EXPECT_EQ(models.Predict(stream, Named("MI210")).seconds,
            FittedModels().Predict(stream, Named("MI210")).seconds);
  const Operator other_type = op.WithType(DataType::kFp16);
  EXPECT_EQ(models.Predict(other_type, Named("MI210")).seconds,
            FittedModels().Predict(other_type, Named("MI210")).seconds);
  for (const std::string_view gpu : {"H200", "H100", "A100-80GB", "MI100"}) {
    EXPECT_EQ(models.Predict(op, Named(gpu)).seconds,
              FittedModels().Predict(op, Named(gpu)).seconds)
        << gpu;
  }
}

TEST(SiblingLevels, AreFoundAgainWhereTheyAlreadyCount) {
  ModelSet models = FittedModels();
  const auto rows = SlowerRows(Named("MI210"), 10, 1.3);
  const auto once = FitSiblingLevels(models, rows);
  models.SetLevels(once);
  const auto again = FitSiblingLevels(models, rows);
  ASSERT_EQ(again.size(), 1);
  EXPECT_EQ(again[0].factor_of_timing, once[0].factor_of_timing);
}

TEST(SiblingLevels, LeaveWithTheGpuThatNobodyMeasured) {
  ModelSet models = FittedModels();
  models.SetLevels(FitSiblingLevels(models, SlowerRows(Named("MI210"), 10, 1.3)));
  const Operator op = Product(777);
  EXPECT_EQ(models.Without("MI210").Predict(op, Named("MI210")).seconds,
            FittedModels().Predict(op, Named("MI210")).seconds);
  EXPECT_EQ(models.Without("MI100").Predict(op, Named("MI210")).seconds,
            models.Predict(op, Named("MI210")).seconds);
}

TEST(SiblingLevels, NeedEnoughRows) {
  EXPECT_THAT(FitSiblingLevels(FittedModels(), SlowerRows(Named("MI210"), 7, 1.3)),
              testing::IsEmpty());
}

TEST(SiblingLevels, AGpuWithAModelOfItsOwnNeedsNone) {
  EXPECT_THAT(FitSiblingLevels(FittedModels(), SlowerRows(Named("H200"), 10, 1.3)),
              testing::IsEmpty());
}

TEST(SiblingLevels, RowsWithTheHostInThemCountFromTenLaunchesOn) {
  // Ten rows of 1 ms, and ten of 0.2 ms that are left out.
  std::vector<Measurement> rows;
  for (int i = 0; i < 20; ++i) {
    rows.push_back({.op = Product(1024),
                    .gpu = &Named("MI210"),
                    .timing = Timing::kEager,
                    .seconds = i < 10 ? 1e-3 : 0.2e-3});
  }
  const auto levels = FitSiblingLevels(FittedModels(), rows);
  ASSERT_EQ(levels.size(), 1);
  EXPECT_EQ(levels[0].rows, 10);
  EXPECT_NEAR(levels[0].deviation, 0, 1e-9);
}

TEST(SiblingLevels, ComeBackFromTheirFile) {
  SiblingLevel level;
  level.gpu = "MI210";
  level.kind = OperatorKind::kBatchedGemm;
  level.factor_of_timing = {1.25, 1.125, 0.9375};
  level.deviation = 0.25;
  level.rows = 28;
  const auto read = ParseSiblingLevels(SiblingLevelsText({{"nodes.csv.gz"}, {level}}), "levels");
  ASSERT_TRUE(read.has_value()) << read.error().message();
  EXPECT_THAT(read->sources, testing::ElementsAre("nodes.csv.gz"));
  ASSERT_EQ(read->levels.size(), 1);
  EXPECT_EQ(read->levels[0].gpu, "MI210");
  EXPECT_EQ(read->levels[0].kind, OperatorKind::kBatchedGemm);
  EXPECT_EQ(read->levels[0].type, DataType::kFp32);
  EXPECT_EQ(read->levels[0].factor_of_timing[0], 1.25);
  EXPECT_EQ(read->levels[0].factor_of_timing[2], 0.9375);
  EXPECT_EQ(read->levels[0].rows, 28);
}

std::string ErrorOf(const std::string& text) {
  const auto read = ParseSiblingLevels(text, "levels");
  return read ? "" : read.error().message();
}

TEST(SiblingLevels, AFileThatIsNoneIsRejected) {
  const std::string head = "format: orrery sibling levels\nversion: 1\nsources: []\nlevels:\n";
  const std::string rest = ", kernels: 1, replay: 1, eager: 1, deviation: 0.1, rows: 9}\n";
  EXPECT_EQ(ErrorOf(head + "  - {gpu: MI210, operator: gemm, type: fp32" + rest), "");
  EXPECT_THAT(ErrorOf(head + "  - {gpu: MI999, operator: gemm, type: fp32" + rest),
              testing::HasSubstr("MI999"));
  EXPECT_THAT(ErrorOf(head + "  - {gpu: MI210, operator: fft, type: fp32" + rest),
              testing::HasSubstr("fft"));
  EXPECT_THAT(ErrorOf("format: other\nversion: 1\nsources: []\nlevels: []\n"),
              testing::HasSubstr("format"));
  EXPECT_THAT(ErrorOf("a: [1"), testing::StartsWith("levels: "));
}

}  // namespace
}  // namespace orrery::calibrate
