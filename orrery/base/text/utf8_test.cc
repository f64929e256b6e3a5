#include <cstddef>
#include <string_view>

#include <gtest/gtest.h>

#include "orrery/base/document/json_text.h"

namespace orrery {
namespace {

void ExpectValid(std::string_view text, char32_t value) {
  const CodePoint first = FirstCodePoint(text);
  EXPECT_TRUE(first.is_valid);
  EXPECT_EQ(first.value, value);
  EXPECT_EQ(first.num_bytes, text.size());
}

void ExpectInvalid(std::string_view text, std::size_t num_bytes) {
  const CodePoint first = FirstCodePoint(text);
  EXPECT_FALSE(first.is_valid);
  EXPECT_EQ(first.value, char32_t{0xfffd});
  EXPECT_EQ(first.num_bytes, num_bytes);
}

// The first and last character of each length.
TEST(Utf8Test, CharactersOfAllLengthsAreDecoded) {
  ExpectValid(std::string_view("\0", 1), 0);
  ExpectValid("\x7f", 0x7f);
  ExpectValid("\xc2\x80", 0x80);
  ExpectValid("\xdf\xbf", 0x7ff);
  ExpectValid("\xe0\xa0\x80", 0x800);
  ExpectValid("\xef\xbf\xbf", 0xffff);
  ExpectValid("\xf0\x90\x80\x80", 0x10000);
  ExpectValid("\xf4\x8f\xbf\xbf", 0x10ffff);
}

TEST(Utf8Test, OnlyTheFirstCharacterCounts) {
  EXPECT_EQ(FirstCodePoint("µs").value, U'µ');
  EXPECT_EQ(FirstCodePoint("µs").num_bytes, 2U);
}

TEST(Utf8Test, BytesThatBeginNoCharacterAreTakenOneByOne) {
  ExpectInvalid("\x80", 1);
  ExpectInvalid("\xc1\xbf", 1);          // overlong
  ExpectInvalid("\xe0\x9f\xbf", 1);      // overlong
  ExpectInvalid("\xed\xa0\x80", 1);      // surrogate
  ExpectInvalid("\xf4\x90\x80\x80", 1);  // above 10FFFF
  ExpectInvalid("\xff", 1);
}

TEST(Utf8Test, ACutCharacterIsTakenAsFarAsItGoes) {
  ExpectInvalid("\xe2\x82", 2);
  ExpectInvalid("\xf0\x9f\x98x", 3);
  ExpectInvalid("\xc3", 1);
}

}  // namespace
}  // namespace orrery
