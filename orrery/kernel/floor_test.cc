#include "orrery/kernel/floor.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "orrery/base/data_type.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/estimate.h"
#include "orrery/kernel/measured/measurement.h"
#include "orrery/kernel/model_set.h"
#include "orrery/kernel/operator.h"
#include "orrery/kernel/power.h"
#include "orrery/learn/data_set.h"

namespace orrery::kernel {
namespace {

const ModelSet& Models() {
  static const ModelSet models = ShippedModels().value();
  return models;
}

double FloorOn(std::string_view gpu, std::string_view text) {
  return FloorSeconds(*ParseOperator(text), *hardware::FindGpu(gpu));
}

// 2 · 8192³ FLOPs at 1,307.4 TFLOP/s.
TEST(Floor, OfAGemmIsItsArithmeticAtThePeak) {
  EXPECT_NEAR(FloorOn("MI300X", "gemm m=8192 n=8192 k=8192 bf16"), 1'099'511'627'776 / 1307.4e12,
              1e-12);
}

// 4 GiB are read and 4 written at 4.8 TB/s; 50 MiB may be in the cache.
TEST(Floor, OfAStreamIsWhatCachesCannotHold) {
  const double bytes = 8.0 * (1 << 30) - 50.0 * (1 << 20);
  EXPECT_NEAR(FloorOn("H200", "softmax rows=32768 cols=65536 bf16"), bytes / 4.8e12, 1e-9);
  EXPECT_DOUBLE_EQ(FloorOn("H200", "softmax rows=64 cols=1024 bf16"), 64 * 1024 * 6 / 2 / 67e12);
}

/// Small sizes are as likely as large ones.
std::int64_t AnySize(learn::Random& random, std::size_t fields) {
  const double most = fields > 4 ? 1e3 : fields > 1 ? 3e4 : 1e9;
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::pow(most, random.Uniform())));
}

/// Any operator of a kind: sizes, words and flags at random, counts at their defaults.
Operator AnyOperator(OperatorKind kind, DataType type, learn::Random& random) {
  Operator op(kind, type);
  const std::span<const Field> fields = SchemaOf(kind).fields;
  const auto sizes =
      static_cast<std::size_t>(std::ranges::count(fields, FieldType::kSize, &Field::type));
  for (const Field& field : fields) {
    if (field.type == FieldType::kSize) {
      op.Set(field.key, AnySize(random, sizes));
    } else if (field.type == FieldType::kFlag) {
      op.Set(field.key, random.Uniform() < 0.5 ? 1 : 0);
    } else if (field.type == FieldType::kWord) {
      const auto words = static_cast<double>(field.words.size());
      op.Set(field.key, static_cast<std::int64_t>(random.Uniform() * words));
    }
  }
  return op;
}

// Covers burst and sustained times of every GPU of the catalogue, most of them without
// measurements.
TEST(Floor, NoPredictionIsBelowIt) {
  learn::Random random(7);
  std::vector<Operator> operators;
  constexpr int kRounds = 5;
  for (std::size_t kind = 0; kind < kNumOperatorKinds; ++kind) {
    for (const DataType type :
         {DataType::kBf16, DataType::kFp16, DataType::kFp32, DataType::kFp8, DataType::kTf32}) {
      for (int round = 0; round < kRounds; ++round) {
        operators.push_back(AnyOperator(static_cast<OperatorKind>(kind), type, random));
      }
    }
  }
  for (const hardware::Gpu& gpu : hardware::GpuCatalogue()) {
    for (const Timing timing : {Timing::kKernels, Timing::kEager}) {
      std::vector<Estimate> estimates(operators.size());
      Models().PredictAs(timing, operators, gpu, estimates);
      for (std::size_t i = 0; i < operators.size(); ++i) {
        const double floor = FloorSeconds(operators[i], gpu);
        EXPECT_GE(estimates[i].seconds, floor) << Text(operators[i]) << " on " << gpu.name;
        EXPECT_GE(SustainedSeconds(operators[i], gpu, estimates[i].seconds), floor)
            << Text(operators[i]) << " on " << gpu.name;
      }
    }
  }
}

// Products at the peak of their type: no rate of a GPU is exceeded.
TEST(Floor, LargeGemmsStayBelowThePeakOfEveryGpu) {
  for (const hardware::Gpu& gpu : hardware::GpuCatalogue()) {
    for (const std::string_view type : {"bf16", "fp16", "fp32", "fp8"}) {
      const Operator op = *ParseOperator(fmt::format("gemm m=8192 n=8192 k=8192 {}", type));
      const Estimate estimate = Models().Predict(op, gpu);
      EXPECT_GE(estimate.seconds, estimate.roofline_seconds) << gpu.name << " " << type;
    }
  }
}

}  // namespace
}  // namespace orrery::kernel
