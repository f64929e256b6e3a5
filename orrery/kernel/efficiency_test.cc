#include "orrery/kernel/efficiency.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/base/data_type.h"
#include "orrery/kernel/data_type.h"
#include "orrery/kernel/features.h"
#include "orrery/kernel/operator.h"
#include "orrery/learn/forest.h"

namespace orrery::kernel {
namespace {

/// A stump on the first feature, the logarithm of m.
learn::Forest Stump(std::size_t num_features) {
  const learn::Tree tree = {
      {.left = 1, .right = 2, .feature = 0, .threshold = 8}, {.value = 0.5}, {.value = 0.25}};
  return *learn::Forest::FromTrees(0.125, num_features, std::vector<learn::Tree>{tree});
}

EfficiencyModel GemmModel() {
  EfficiencyModel::Domain domain;
  domain.kind = OperatorKind::kGemm;
  domain.gpu = "H200";
  domain.rows = 100;
  domain.types.set(OperatorTypeNumber(DataType::kBf16));
  const Schema& schema = SchemaOf(OperatorKind::kGemm);
  for (std::size_t i = 0; i < schema.fields.size(); ++i) {
    const bool is_size = schema.fields[i].type == FieldType::kSize;
    domain.range_of_field[i] =
        is_size ? EfficiencyModel::Range{16, 4096} : EfficiencyModel::Range{0, 1};
  }
  return {domain, {2e-6, 2}, 0.05, Stump(FeatureNames(OperatorKind::kGemm).size())};
}

std::string Refusal(std::string_view bytes) {
  const Result<EfficiencyModel> model = EfficiencyModel::Decode(bytes);
  return model ? "" : model.error().message();
}

TEST(LaunchFloor, JoinsLaunchAndRoofline) {
  EXPECT_DOUBLE_EQ((LaunchFloor{2, 1}.Join(3)), 5);    // one after the other
  EXPECT_DOUBLE_EQ((LaunchFloor{3, 2}.Join(4)), 5);    // √(9 + 16)
  EXPECT_NEAR((LaunchFloor{2, 64}.Join(3)), 3, 1e-9);  // the longer one
  EXPECT_DOUBLE_EQ((LaunchFloor{2, 4}.Join(0)), 2);
}

RC_GTEST_PROP(LaunchFloor, GrowsWithTheRooflineAndIsNeverShorterThanEither, ()) {
  const auto any_time = [] { return *rc::gen::inRange(1, 1'000'000) * 1e-9; };
  const LaunchFloor floor{any_time(), *rc::gen::inRange(1, 9) * 0.5};
  const double roofline = any_time();
  RC_ASSERT(floor.Join(roofline) >= std::max(floor.seconds, roofline) * (1 - 1e-12));
  RC_ASSERT(floor.Join(roofline) <= floor.Join(2 * roofline));
}

TEST(Place, WhatWasMeasuredStaysAsItIs) {
  const Operator op = *ParseOperator("gemm m=64 n=64 k=64 bf16");
  const auto placed = GemmModel().Place(op);
  ASSERT_TRUE(placed.has_value());
  EXPECT_EQ(placed->op, op);
  EXPECT_FALSE(placed->was_outside);
}

TEST(Place, SizesGoToTheNearestEdge) {
  const auto placed = GemmModel().Place(*ParseOperator("gemm m=1 n=8192 k=64 bf16"));
  ASSERT_TRUE(placed.has_value());
  EXPECT_EQ(Text(placed->op), "gemm m=16 n=4096 k=64 bf16");
  EXPECT_TRUE(placed->was_outside);
}

TEST(Place, TypesGoToASimilarOneIfThereIsOne) {
  const auto placed = GemmModel().Place(*ParseOperator("gemm m=64 n=64 k=64 fp16"));
  ASSERT_TRUE(placed.has_value());
  EXPECT_EQ(placed->op.type(), DataType::kBf16);
  EXPECT_TRUE(placed->was_outside);
  EXPECT_FALSE(GemmModel().Place(*ParseOperator("gemm m=64 n=64 k=64 nvfp4")).has_value());
}

TEST(EfficiencyCodec, ComesBackAsItWas) {
  const EfficiencyModel model = GemmModel();
  const std::string bytes = model.Encode();
  const Result<EfficiencyModel> read = EfficiencyModel::Decode(bytes);
  ASSERT_TRUE(read.has_value()) << read.error().message();
  EXPECT_EQ(read->Encode(), bytes);
  EXPECT_EQ(read->domain().gpu, "H200");
  EXPECT_EQ(read->domain().rows, 100);
  EXPECT_EQ(read->domain().types, model.domain().types);
  EXPECT_EQ(read->floor().seconds, 2e-6);
  EXPECT_EQ(read->floor().sharpness, 2);
  EXPECT_EQ(read->deviation(), 0.05);
  std::vector<float> row(read->forest().num_features(), 0);
  EXPECT_EQ(read->forest().Predict(row), 0.625);  // base and left leaf
  row[0] = 10;
  EXPECT_EQ(read->forest().Predict(row), 0.375);
}

TEST(EfficiencyCodec, IsRejectedWhenItIsCut) {
  const std::string bytes = GemmModel().Encode();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_NE(Refusal(std::string_view(bytes).substr(0, size)), "") << size;
  }
}

RC_GTEST_PROP(EfficiencyCodec, SurvivesAnyByte, ()) {
  std::string bytes = GemmModel().Encode();
  const auto place = *rc::gen::inRange<std::size_t>(0, bytes.size());
  bytes[place] = static_cast<char>(*rc::gen::arbitrary<std::uint8_t>());
  const Result<EfficiencyModel> read = EfficiencyModel::Decode(bytes);
  RC_ASSERT((read.has_value() || !read.error().message().empty()));
}

TEST(EfficiencyCodec, IsRejectedByASentenceWhenItIsOfAnotherVersion) {
  EXPECT_EQ(Refusal(""),
            "a kernel model in the file is of an unknown operator; fit it again "
            "with this version of orrery");
  const EfficiencyModel model = GemmModel();
  const EfficiencyModel other(model.domain(), model.floor(), model.deviation(), Stump(1));
  EXPECT_EQ(Refusal(other.Encode()),
            "a kernel model in the file was trained on other features; fit it again with this "
            "version of orrery");
  const EfficiencyModel endless(model.domain(), {1.0 / 0.0, 1}, 0, model.forest());
  EXPECT_EQ(Refusal(endless.Encode()),
            "a kernel model in the file is damaged; fit it again with this version of orrery");
}

}  // namespace
}  // namespace orrery::kernel
