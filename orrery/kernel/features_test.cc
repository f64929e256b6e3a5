#include "orrery/kernel/features.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/base/data_type.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/any_operator_test.h"
#include "orrery/kernel/operator.h"

namespace orrery::kernel {
namespace {

constexpr double kStep = 1.0 / 1024;

FeatureRow FeaturesOn(std::string_view gpu, std::string_view text) {
  return FeaturesOf(*ParseOperator(text), *hardware::FindGpu(gpu));
}

/// Returns true if two neighbouring features are the logarithm of so many waves and their fill
/// level.
bool HasWaves(const FeatureRow& row, double waves, double filled) {
  const auto is_pair = [&](float first, float second) {
    return std::abs(first - std::log2(waves)) <= kStep && std::abs(second - filled) <= kStep;
  };
  const auto values = row.values();
  return std::ranges::adjacent_find(values, is_pair) != values.end();
}

bool HasValue(const FeatureRow& row, double value) {
  return std::ranges::any_of(row.values(),
                             [&](float one) { return std::abs(one - value) <= kStep; });
}

TEST(Features, CountWavesOfTilesAsTheReferenceDoes) {
  // Reference vector TV5 on 132 multiprocessors: 4096² in tiles of 128 × 128 are 1024 tiles, 7.7576
  // waves, so 8 that are 0.969697 full; in tiles of 128 × 256 they are 512, 4 waves as full.
  const FeatureRow large = FeaturesOn("H200", "gemm m=4096 n=4096 k=4096 bf16");
  EXPECT_TRUE(HasWaves(large, 8, 0.969697));
  EXPECT_TRUE(HasWaves(large, 4, 0.969697));
  // 1000² in tiles of 128 × 128: 64 tiles, one wave that is 0.484848 full; each side is padded to
  // 1024, and 1.024³ = 1.073742 with k.
  const FeatureRow odd = FeaturesOn("H200", "gemm m=1000 n=1000 k=1000 bf16");
  EXPECT_TRUE(HasWaves(odd, 1, 0.484848));
  EXPECT_TRUE(HasValue(odd, 1.024));
}

TEST(Features, KnowTheGpu) {
  // The same 1024 tiles on the 108 multiprocessors of an A100: 9.48 waves, so 10.
  const FeatureRow row = FeaturesOn("A100", "gemm m=4096 n=4096 k=4096 bf16");
  EXPECT_TRUE(HasWaves(row, 10, 1024.0 / 1080));
  EXPECT_FALSE(HasWaves(row, 8, 0.969697));
}

TEST(Features, AreRoundedSoThatMachinesAgree) {
  FeatureRow row;
  row.Add(1.0 / 3);
  row.Add(-2.0001);
  EXPECT_EQ(row.values()[0], 341.0F / 1024);
  EXPECT_EQ(row.values()[1], -2.0F);
}

TEST(Features, EveryKindNamesThem) {
  for (std::size_t i = 0; i < kNumOperatorKinds; ++i) {
    const auto kind = static_cast<OperatorKind>(i);
    const FeatureRow row = FeaturesOf(Operator(kind, DataType::kBf16), *hardware::FindGpu("H200"));
    EXPECT_EQ(FeatureNames(kind).size(), row.values().size()) << SchemaOf(kind).name;
  }
}

RC_GTEST_PROP(Features, AreFiniteAndAsManyAsTheirNames, ()) {
  const Operator op = AnyOperator();
  const auto& gpus = hardware::GpuCatalogue();
  const FeatureRow row = FeaturesOf(op, gpus[*rc::gen::inRange<std::size_t>(0, gpus.size())]);
  RC_ASSERT(row.values().size() == FeatureNames(op.kind()).size());
  for (const float value : row.values()) {
    RC_ASSERT(std::isfinite(value));
  }
}

}  // namespace
}  // namespace orrery::kernel
