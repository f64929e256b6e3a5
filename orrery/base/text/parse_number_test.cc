#include "orrery/base/text/parse_number.h"

#include <cstdint>
#include <optional>

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(ParseNumberTest, AWholeNumberIsAllOfTheText) {
  EXPECT_EQ(ParseWhole<std::int64_t>("-12"), -12);
  EXPECT_EQ(ParseWhole<double>("1.5"), 1.5);
  EXPECT_EQ(ParseWhole<std::int64_t>("12a"), std::nullopt);
  EXPECT_EQ(ParseWhole<std::int64_t>(""), std::nullopt);
}

TEST(ParseNumberTest, APrefixIsTheNumberAtTheBegin) {
  EXPECT_EQ(ParsePrefix<std::int64_t>("12 ranks"), 12);
  EXPECT_EQ(ParsePrefix<std::int64_t>("ranks"), std::nullopt);
}

TEST(ParseNumberTest, NegativeAndLargeNumbersAreUnknown) {
  EXPECT_EQ(SmallOrUnknown(7), 7);
  EXPECT_EQ(SmallOrUnknown(-3), -1);
  EXPECT_EQ(SmallOrUnknown(std::int64_t{1} << 31), -1);
}

}  // namespace
}  // namespace orrery
