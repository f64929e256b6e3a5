#include "orrery/base/text/decimal.h"

#include <optional>

#include <gtest/gtest.h>

namespace orrery {
namespace {

// 1712170298123456.789 µs needs 19 digits; as a double it would be off by up to 0.25 µs.
TEST(DecimalTest, EpochTimesKeepTheirNanoseconds) {
  EXPECT_EQ(ParseMicroseconds("1712170298123456.789"), 1712170298123456789);
  EXPECT_EQ(ParseMicroseconds("1712170298123456.7"), 1712170298123456700);
  EXPECT_EQ(ParseMicroseconds("1712170298123456"), 1712170298123456000);
}

TEST(DecimalTest, SmallAndSignedTimes) {
  EXPECT_EQ(ParseMicroseconds("0"), 0);
  EXPECT_EQ(ParseMicroseconds("0.001"), 1);
  EXPECT_EQ(ParseMicroseconds("-1.5"), -1500);
  EXPECT_EQ(ParseMicroseconds("12."), 12000);
}

// 0.0005 µs is half a nanosecond: up; 0.00049 is below: down.
TEST(DecimalTest, DecimalsBelowANanosecondRoundHalfUp) {
  EXPECT_EQ(ParseMicroseconds("1.0005"), 1001);
  EXPECT_EQ(ParseMicroseconds("1.00049"), 1000);
  EXPECT_EQ(ParseMicroseconds("3845883923007.7504999999"), 3845883923007750);
}

TEST(DecimalTest, ExponentsAreUnderstood) {
  EXPECT_EQ(ParseMicroseconds("1.5e3"), 1'500'000);
  EXPECT_EQ(ParseMicroseconds("15E-1"), 1500);
  EXPECT_EQ(ParseMicroseconds("1e400"), std::nullopt);
}

// 2^61 ns are 2305843009.213693952 s.
TEST(DecimalTest, SecondsBecomeNanoseconds) {
  EXPECT_EQ(ParseSecondsAsNs("46.132019"), 46'132'019'000);
  EXPECT_EQ(ParseSecondsAsNs("4.7683716e-7"), 477);
  EXPECT_EQ(ParseSecondsAsNs("2305843009.213693953"), std::nullopt);
}

TEST(DecimalTest, OtherTextAndAbsurdValuesAreNothing) {
  for (const char* text : {"", "-", ".", "abc", "1.2.3", "NaN", "12x", "1e", "99999999999999999999",
                           "2305843009213693.953", "1e-2000"}) {
    EXPECT_EQ(ParseMicroseconds(text), std::nullopt) << text;
  }
}

TEST(DecimalTest, IntegersMayBeWrittenWithDecimals) {
  EXPECT_EQ(ParseInteger("-12"), -12);
  EXPECT_EQ(ParseInteger("12.0"), 12);
  EXPECT_EQ(ParseInteger("9223372036854775807"), 9223372036854775807);
  EXPECT_EQ(ParseInteger("x"), std::nullopt);
}

}  // namespace
}  // namespace orrery
