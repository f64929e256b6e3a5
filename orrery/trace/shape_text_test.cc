#include "orrery/trace/shape_text.h"

#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::trace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ShapeTextTest, ItemsOfAnArrayKeepTheirNesting) {
  EXPECT_THAT(ArrayItems(R"([[4, 2], [], "a, b", 3])"),
              ElementsAre("[4, 2]", "[]", R"("a, b")", "3"));
  EXPECT_THAT(ArrayItems("[]"), IsEmpty());
  EXPECT_THAT(ArrayItems("12"), IsEmpty());
}

TEST(ShapeTextTest, IntegersMayBeNegativeAndNothingElse) {
  EXPECT_THAT(IntegerItems("[4, -1]"), testing::Optional(ElementsAre(4, -1)));
  EXPECT_THAT(IntegerItems("[]"), testing::Optional(IsEmpty()));
  EXPECT_EQ(IntegerItems("[4, true]"), std::nullopt);
}

TEST(ShapeTextTest, OnlyQuotesAreTakenOff) {
  EXPECT_EQ(Unquoted(R"("a b")"), "a b");
  EXPECT_EQ(Unquoted("12"), "12");
  EXPECT_EQ(Unquoted("\""), "\"");
}

TEST(ShapeTextTest, ListsOfTensorsAddUp) {
  EXPECT_EQ(NumElements("[4, 2048, 4096]"), 4LL * 2048 * 4096);
  EXPECT_EQ(NumElements("[[4, 2], [3]]"), 11);
  EXPECT_EQ(NumElements("[[]]"), 1);
  EXPECT_EQ(NumElements("[]"), std::nullopt);
  EXPECT_EQ(NumElements("[9223372036854775807, 2]"), std::nullopt);
}

}  // namespace
}  // namespace orrery::trace
