#include "orrery/trace/speedup.h"

#include <gtest/gtest.h>

#include "orrery/trace/kernel_class.h"

namespace orrery::trace {
namespace {

TEST(SpeedupTest, APartHasAFactor) {
  const auto network = ParseSpeedup("network=4");
  ASSERT_TRUE(network);
  EXPECT_EQ(network->part, Part::kNetwork);
  EXPECT_DOUBLE_EQ(network->factor, 4);
  EXPECT_EQ(network->text, "network=4");
  EXPECT_EQ(ParseSpeedup("gemm=1e6")->part, Part::kGemm);
}

TEST(SpeedupTest, NamesEndAtTheLastEqualsSign) {
  const auto named = ParseSpeedup("operator:aten::mm=1.5");
  ASSERT_TRUE(named);
  EXPECT_EQ(named->part, Part::kOperator);
  EXPECT_EQ(named->name, "aten::mm");
  EXPECT_DOUBLE_EQ(named->factor, 1.5);
  EXPECT_EQ(ParseSpeedup("kernel:a=b=2")->name, "a=b");
}

TEST(SpeedupTest, ARankHasNoFactor) {
  const auto rank = ParseSpeedup("rank:3");
  ASSERT_TRUE(rank);
  EXPECT_EQ(rank->part, Part::kRank);
  EXPECT_EQ(rank->name, "3");
}

TEST(SpeedupTest, OtherTextsAreNone) {
  for (const char* text : {"", "network", "network=", "network=0", "network=-1", "network=2x",
                           "network=inf", "network=nan", "network=1e7", "network:x=2", "kernel=2",
                           "kernel:=2", "rank:3=2", "rank:x", "rank:123456789", "wind=2"}) {
    EXPECT_FALSE(ParseSpeedup(text)) << text;
  }
}

TEST(SpeedupTest, ConvolutionsAndExpertsCountAsGemms) {
  EXPECT_EQ(PartOf(KernelClass::kGemm), Part::kGemm);
  EXPECT_EQ(PartOf(KernelClass::kConvolution), Part::kGemm);
  EXPECT_EQ(PartOf(KernelClass::kMoeExpert), Part::kGemm);
  EXPECT_EQ(PartOf(KernelClass::kSoftmax), Part::kOther);
}

}  // namespace
}  // namespace orrery::trace
