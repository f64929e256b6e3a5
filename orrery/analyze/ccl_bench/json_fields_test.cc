#include "orrery/analyze/ccl_bench/json_fields.h"

#include <gtest/gtest.h>

#include "orrery/analyze/ccl_bench/chrome_slices.h"

namespace orrery::analyze::ccl_bench {
namespace {

TEST(JsonFieldsTest, FindsFieldsBesideNestedOnesOfTheSameName) {
  constexpr std::string_view kFields =
      R"json("occupancy": {"blocks": 1, "x": [2, "a,b"]}, "blocks": 3.5, "name": "q\"uoted, text")json";
  EXPECT_EQ(JsonNumber(kFields, "blocks"), 3.5);
  EXPECT_EQ(JsonField(kFields, "name"), R"(q\"uoted, text)");
  EXPECT_EQ(JsonField(kFields, "x"), std::nullopt);
}

TEST(JsonFieldsTest, ReadsNumbersThatAreWrittenAsStrings) {
  EXPECT_EQ(JsonNumber(R"json("model_flops":"1048576")json", "model_flops"), 1048576.0);
  EXPECT_EQ(JsonNumber(R"json("model_flops":"many")json", "model_flops"), std::nullopt);
}

TEST(JsonFieldsTest, SurvivesTextThatIsCutOff) {
  EXPECT_EQ(JsonField("\"", "a"), std::nullopt);
  EXPECT_EQ(JsonField("\"a\"", "a"), std::nullopt);
  EXPECT_EQ(JsonField("\"b\": [1, ", "a"), std::nullopt);
  EXPECT_EQ(JsonField("", "a"), std::nullopt);
}

// 8·128 elements of 2 bytes and one scalar of 4; the layout in braces does not count.
TEST(ShapeBytesTest, AddsUpTuples) {
  EXPECT_EQ(ShapeBytes("(bf16[8,128]{1,0:T(8,128)}, u32[])"), 2052.0);
  EXPECT_EQ(ShapeBytes("pred[16]"), 16.0);
  EXPECT_EQ(ShapeBytes("f8e4m3fn[4]"), 4.0);
  EXPECT_EQ(ShapeBytes("token"), 0.0);
}

}  // namespace
}  // namespace orrery::analyze::ccl_bench
