#include <optional>
#include <string_view>

#include <gtest/gtest.h>

#include "orrery/analyze/fields.h"

namespace orrery::analyze {
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

}  // namespace
}  // namespace orrery::analyze
