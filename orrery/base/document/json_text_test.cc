#include "orrery/base/document/json_text.h"

#include <string>

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(JsonTextTest, QuotesBackslashesAndControlCharactersAreEscaped) {
  EXPECT_EQ(QuoteJson("a\"b\\c\n\t\r"), R"("a\"b\\c\n\t\r")");
  EXPECT_EQ(EscapeJson(std::string("\x01\0", 2)), R"(\u0001\u0000)");
}

TEST(JsonTextTest, CharactersBeyondAsciiStayAsTheyAre) {
  EXPECT_EQ(EscapeJson("rank 3 · GPU 3 😀"), "rank 3 · GPU 3 😀");
  EXPECT_TRUE(IsPlainJsonText("rank 3 · GPU 3 😀"));
}

TEST(JsonTextTest, BytesThatAreNotUtf8BecomeReplacementCharacters) {
  EXPECT_EQ(EscapeJson("a\xff z"), "a\uFFFD z");
  // An overlong slash, and a truncated character.
  EXPECT_EQ(EscapeJson("\xc0\xaf"), "\uFFFD\uFFFD");
  EXPECT_EQ(EscapeJson("\xe2\x82"), "\uFFFD");
  EXPECT_FALSE(IsPlainJsonText("\xe2\x82"));
}

}  // namespace
}  // namespace orrery
