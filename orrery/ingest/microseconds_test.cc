#include "orrery/ingest/microseconds.h"

#include <gtest/gtest.h>

namespace orrery::ingest {
namespace {

TEST(Microseconds, KeepsEveryNanosecondOfEpochTimes) {
  EXPECT_EQ(ParseMicroseconds("1694128201428003"), 1694128201428003000);
  // The nearest double is 1694128201428003.25.
  EXPECT_EQ(ParseMicroseconds("1694128201428003.123"), 1694128201428003123);
  EXPECT_EQ(ParseMicroseconds("-0.5"), -500);
  EXPECT_EQ(ParseMicroseconds("7."), 7000);
}

TEST(Microseconds, RoundsDigitsBeyondTheNanosecond) {
  EXPECT_EQ(ParseMicroseconds("0.12349"), 123);
  EXPECT_EQ(ParseMicroseconds("0.1235"), 124);
}

TEST(Microseconds, ReadsExponents) {
  EXPECT_EQ(ParseMicroseconds("1.5e3"), 1500000);
  EXPECT_EQ(ParseMicroseconds("1e300"), std::nullopt);
}

TEST(Microseconds, RefusesWhatIsNotANumber) {
  for (const char* text :
       {"", "-", ".5", "abc", "12x", "1.2.3", "1.2x", "null", "99999999999999999999"}) {
    EXPECT_EQ(ParseMicroseconds(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace orrery::ingest
