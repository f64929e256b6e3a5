#include "orrery/base/text/duration_text.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(DurationTextTest, ReadsNumbersWithAUnit) {
  EXPECT_EQ(ParseSeconds("250ms"), 0.25);
  EXPECT_EQ(ParseSeconds("30s"), 30);
  EXPECT_EQ(ParseSeconds("8m"), 480);
  EXPECT_EQ(ParseSeconds("8 min"), 480);
  EXPECT_EQ(ParseSeconds("1.5h"), 5400);
  EXPECT_EQ(ParseSeconds("20d"), 1'728'000);
  EXPECT_EQ(ParseSeconds("0d"), 0);
}

TEST(DurationTextTest, RefusesWhatIsNoTime) {
  for (const char* const text : {"", "30", "m", "8x", "-3m", "8m3", "nan s", "inf d", "1e400s"}) {
    EXPECT_FALSE(ParseSeconds(text).has_value()) << text;
  }
}

TEST(DurationTextTest, WritesTheUnitThatKeepsNumbersSmall) {
  EXPECT_EQ(SecondsText(0), "0 s");
  EXPECT_EQ(SecondsText(0.0312), "31.2 ms");
  EXPECT_EQ(SecondsText(90), "90 s");
  EXPECT_EQ(SecondsText(480), "8 min");
  EXPECT_EQ(SecondsText(9000), "2.5 h");
  EXPECT_EQ(SecondsText(1'728'000), "20 d");
}

}  // namespace
}  // namespace orrery
