#include "orrery/kernel/model_set.h"

#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/base/data_type.h"
#include "orrery/base/error.h"
#include "orrery/calibrate/kernels/fit.h"
#include "orrery/calibrate/kernels/generated_rows_test.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/any_operator_test.h"
#include "orrery/kernel/estimate.h"
#include "orrery/kernel/library_calls.h"
#include "orrery/kernel/measured/measurement.h"
#include "orrery/kernel/operator.h"
#include "orrery/learn/model_file.h"

namespace orrery::calibrate {
namespace {

using kernel::AnyOperator;
using kernel::AnyOperatorOf;
using kernel::Estimate;
using kernel::EstimateSource;
using kernel::Field;
using kernel::FieldType;
using kernel::kNumOperatorKinds;
using kernel::Measurement;
using kernel::ModelSet;
using kernel::Operator;
using kernel::OperatorKind;
using kernel::ParseOperator;
using kernel::SchemaOf;
using kernel::Text;
using kernel::Timing;

const hardware::Gpu& Named(std::string_view name) {
  return *hardware::FindGpu(name);
}

Operator Parsed(std::string_view text) {
  const Result<Operator> op = ParseOperator(text);
  EXPECT_TRUE(op.has_value()) << text;
  return *op;
}

/// Products and streams of an H200.
const ModelSet& FittedModels() {
  static const ModelSet models =
      *FitModels(GeneratedRows(Named("H200"), 40), {.threads = 1}, [](std::size_t, std::size_t) {});
  return models;
}

/// The same rows as the fastest kernels that a search found.
ModelSet TunedModels(const hardware::Gpu& gpu) {
  std::vector<Measurement> rows = GeneratedRows(gpu, 40);
  for (Measurement& row : rows) {
    row.timing = Timing::kTuned;
  }
  return *FitModels(rows, {.threads = 1}, [](std::size_t, std::size_t) {});
}

TEST(ModelSet, ALibraryIsSlowerThanTheFastestKernels) {
  const ModelSet models = TunedModels(Named("MI300X"));
  const Operator op = Parsed("gemm m=1024 n=1024 k=1024 bf16");
  const double factor = kernel::LibraryCallsOf("amd").factor;
  EXPECT_GT(factor, 1);
  for (const std::string_view name : {"MI300X", "MI325X"}) {
    Estimate tuned;
    Estimate library;
    models.PredictAs(Timing::kTuned, {&op, 1}, Named(name), {&tuned, 1}, 1);
    models.PredictAs(Timing::kKernels, {&op, 1}, Named(name), {&library, 1}, 1);
    EXPECT_NEAR(library.seconds / tuned.seconds, factor, 1e-9) << name;
    EXPECT_DOUBLE_EQ(tuned.library_factor, 1);
    EXPECT_NEAR(library.library_factor, factor, 1e-12);
    EXPECT_GT(library.uncertainty, tuned.uncertainty);
  }
}

TEST(ModelSet, ASearchSaysNothingOfOtherVendors) {
  const ModelSet models = TunedModels(Named("MI300X"));
  const Estimate estimate = models.Predict(Parsed("gemm m=1024 n=1024 k=1024 bf16"), Named("A800"));
  EXPECT_EQ(estimate.source, EstimateSource::kRoofline);
}

// Beside the H200's models, whose vendor is another one, nothing changes.
TEST(ModelSet, ASearchGoesBeforeLibrariesOfOtherVendors) {
  const Operator op = Parsed("gemm m=1024 n=1024 k=1024 bf16");
  ModelSet models = TunedModels(Named("MI300X"));
  const Estimate alone = models.Predict(op, Named("MI325X"));
  models.Merge(FittedModels());
  const Estimate beside = models.Predict(op, Named("MI325X"));
  EXPECT_DOUBLE_EQ(beside.seconds, alone.seconds);
  EXPECT_DOUBLE_EQ(beside.library_factor, kernel::LibraryCallsOf("amd").factor);
}

// Kernels of an Ascend or a Trainium are as uncertain as a roofline.
TEST(ModelSet, AVendorWithoutMeasurementsIsUncertain) {
  const Operator op = Parsed("gemm m=1024 n=1024 k=1024 bf16");
  const double of_ascend = FittedModels().Predict(op, Named("Ascend-910B")).uncertainty;
  EXPECT_GE(of_ascend, 0.5);
  EXPECT_LT(FittedModels().Predict(op, Named("H100")).uncertainty, of_ascend);
}

bool IsReasonable(const Estimate& estimate) {
  return std::isfinite(estimate.seconds) && estimate.seconds > 0 &&
         std::isfinite(estimate.roofline_seconds) && estimate.roofline_seconds >= 0 &&
         std::isfinite(estimate.uncertainty) && estimate.uncertainty >= 0;
}

void AssertReasonableEverywhere(const ModelSet& models, const Operator& op) {
  for (const hardware::Gpu& gpu : hardware::GpuCatalogue()) {
    for (const Timing timing :
         {Timing::kKernels, Timing::kReplay, Timing::kEager, Timing::kTuned}) {
      Estimate estimate;
      models.PredictAs(timing, {&op, 1}, gpu, {&estimate, 1}, 1);
      RC_ASSERT(IsReasonable(estimate));
    }
  }
}

RC_GTEST_PROP(ModelSet, EveryOperatorHasATimeOnEveryGpuWithoutModels, ()) {
  AssertReasonableEverywhere(ModelSet(), AnyOperator());
}

RC_GTEST_PROP(ModelSet, EveryOperatorHasATimeOnEveryGpuWithModels, ()) {
  AssertReasonableEverywhere(FittedModels(), AnyOperator());
}

RC_GTEST_PROP(ModelSet, EverySizeOfWhatWasLearnedHasATime, ()) {
  const bool is_gemm = *rc::gen::arbitrary<bool>();
  AssertReasonableEverywhere(
      FittedModels(), AnyOperatorOf(is_gemm ? OperatorKind::kGemm : OperatorKind::kElementwise));
}

TEST(ModelSet, EveryKindAtItsSmallestHasATime) {
  for (std::size_t i = 0; i < kNumOperatorKinds; ++i) {
    Operator op(static_cast<OperatorKind>(i), DataType::kFp32);
    EXPECT_TRUE(IsReasonable(FittedModels().Predict(op, Named("H200")))) << Text(op);
    for (const Field& field : SchemaOf(op.kind()).fields) {
      op.Set(field.key, field.type == FieldType::kSize ? 1 : 0);
    }
    EXPECT_TRUE(IsReasonable(FittedModels().Predict(op, Named("H200")))) << Text(op);
  }
}

TEST(ModelSet, BothGradientsOfAConvolutionTakeAsLongAsEach) {
  const std::string text = "conv b=8 c=64 oc=128 h=28 w=28 kh=3 kw=3 pad=1 bf16 pass=";
  const auto seconds = [&](std::string_view pass) {
    return FittedModels().Predict(Parsed(text + std::string(pass)), Named("H200")).seconds;
  };
  EXPECT_DOUBLE_EQ(seconds("bwd"), seconds("dgrad") + seconds("wgrad"));
}

TEST(ModelSet, WithoutModelsPhysicsAnswers) {
  const Estimate estimate =
      ModelSet().Predict(Parsed("gemm m=4096 n=4096 k=4096 bf16"), Named("H200"));
  EXPECT_EQ(estimate.source, EstimateSource::kRoofline);
  EXPECT_TRUE(estimate.is_extrapolated);
  EXPECT_GT(estimate.seconds, estimate.roofline_seconds);
}

TEST(ModelSet, TheModelOfTheGpuAnswersFirstThenThoseOfOthers) {
  const Operator op = Parsed("gemm m=512 n=320 k=1024 bf16");
  const Estimate own = FittedModels().Predict(op, Named("H200"));
  EXPECT_EQ(own.source, EstimateSource::kThisGpu);
  EXPECT_FALSE(own.is_extrapolated);
  const Estimate sibling = FittedModels().Predict(op, Named("H100"));
  EXPECT_EQ(sibling.source, EstimateSource::kSibling);
  EXPECT_TRUE(sibling.is_extrapolated);
  EXPECT_GT(sibling.uncertainty, own.uncertainty);
  const Estimate other =
      FittedModels().Predict(Parsed("softmax rows=64 cols=64 bf16"), Named("H200"));
  EXPECT_EQ(other.source, EstimateSource::kRoofline);
}

TEST(ModelSet, BeyondWhatWasMeasuredItSaysSo) {
  const Estimate inside = FittedModels().Predict(Parsed("elementwise n=65536 bf16"), Named("H200"));
  const Estimate outside =
      FittedModels().Predict(Parsed("elementwise n=6553600000 bf16"), Named("H200"));
  EXPECT_FALSE(inside.is_extrapolated);
  EXPECT_TRUE(outside.is_extrapolated);
  EXPECT_GT(outside.uncertainty, inside.uncertainty);
  EXPECT_GT(outside.seconds, outside.roofline_seconds * 0.5);
}

TEST(ModelSet, ABatchAnswersAsOneByOneForAnyNumberOfThreads) {
  std::vector<Operator> operators;
  for (const Measurement& row : GeneratedRows(Named("H200"), 100)) {
    operators.push_back(row.op);
    operators.push_back(Operator(OperatorKind::kFill, row.op.type()));
  }
  std::vector<Estimate> one(operators.size());
  std::vector<Estimate> two(operators.size());
  FittedModels().PredictAs(Timing::kKernels, operators, Named("H200"), one, 1);
  FittedModels().PredictAs(Timing::kKernels, operators, Named("H200"), two, 2);
  for (std::size_t i = 0; i < operators.size(); ++i) {
    EXPECT_EQ(one[i].seconds, two[i].seconds);
    EXPECT_EQ(one[i].seconds, FittedModels().Predict(operators[i], Named("H200")).seconds);
  }
}

TEST(ModelSet, ComesBackFromAFile) {
  learn::ModelFile file;
  FittedModels().AddTo(file);
  ASSERT_EQ(file.sections.size(), 2);
  const Result<learn::ModelFile> read = learn::ParseModelFile(learn::FormatModelFile(file));
  ASSERT_TRUE(read.has_value());
  ModelSet models;
  ASSERT_TRUE(models.AddFrom(*read).has_value());
  const Operator op = Parsed("gemm m=500 n=300 k=1000 bf16");
  EXPECT_EQ(models.Predict(op, Named("H200")).seconds,
            FittedModels().Predict(op, Named("H200")).seconds);
}

TEST(ModelSet, ADamagedSectionIsNamed) {
  learn::ModelFile file;
  FittedModels().AddTo(file);
  file.sections[0].bytes.resize(20);
  ModelSet models;
  const Status added = models.AddFrom(file);
  ASSERT_FALSE(added.has_value());
  EXPECT_THAT(added.error().message(), testing::StartsWith(file.sections[0].name + ": "));
  EXPECT_THAT(added.error().message(), testing::HasSubstr("fit it again"));
}

}  // namespace
}  // namespace orrery::calibrate
