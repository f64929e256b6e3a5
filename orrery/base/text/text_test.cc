#include "orrery/base/text/text.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(TextTest, TrimmingTakesBlanksFromBothEndsOnly) {
  EXPECT_EQ(Trimmed(" \ta b\r\n"), "a b");
  EXPECT_EQ(Trimmed(" \t "), "");
  EXPECT_EQ(Trimmed(""), "");
  EXPECT_EQ(Trimmed("\"a\" ", " \""), "a");
}

TEST(TextTest, TheTextAfterAKeyHasNoLeadingBlanks) {
  EXPECT_EQ(TextAfter("rank:  3 of 8", "rank:"), "3 of 8");
  EXPECT_EQ(TextAfter("rank:", "rank:"), "");
  EXPECT_EQ(TextAfter("size: 3", "rank:"), "");
}

TEST(TextTest, CaseIsThatOfAsciiLetters) {
  EXPECT_EQ(LowerCase("AbZ-9\xC4"), "abz-9\xC4");
  EXPECT_TRUE(SameIgnoringCase("NVLink", "nvlink"));
  EXPECT_FALSE(SameIgnoringCase("nv", "nvl"));
}

TEST(TextTest, DigitsAreAsciiDigits) {
  EXPECT_TRUE(IsDigit('0') && IsDigit('9'));
  EXPECT_FALSE(IsDigit('/') || IsDigit(':') || IsDigit('a'));
}

}  // namespace
}  // namespace orrery
