#include "orrery/base/text/visible_text.h"

#include <string>

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(VisibleTextTest, WhatPeopleReadStaysAsItIs) {
  EXPECT_EQ(VisibleText(""), "");
  EXPECT_EQ(VisibleText("void gemm<float, 2>(\"x\")\t1.5 µs\nтекст שלום 日本 █"),
            "void gemm<float, 2>(\"x\")\t1.5 µs\nтекст שלום 日本 █");
}

TEST(VisibleTextTest, WhatATerminalWouldObeyIsEscaped) {
  EXPECT_EQ(VisibleText("a\x1b[31mred\r\x07\x7f"), "a\\u001b[31mred\\u000d\\u0007\\u007f");
  EXPECT_EQ(VisibleText("a\u009b2J"), "a\\u009b2J");  // CSI as one character
  EXPECT_EQ(VisibleText(std::string_view("a\0b", 3)), "a\\u0000b");
}

TEST(VisibleTextTest, MarksThatTurnTextAreEscaped) {
  EXPECT_EQ(VisibleText("gpj.\u202eexe\u2066\u200b"), "gpj.\\u202eexe\\u2066\\u200b");
}

TEST(VisibleTextTest, BytesThatAreNotUtf8AreEscaped) {
  EXPECT_EQ(VisibleText("a\xff\xc3"), "a\\xff\\xc3");
  EXPECT_EQ(VisibleText("\xe2\x82z"), "\\xe2\\x82z");  // the beginning of a euro sign
}

TEST(VisibleTextTest, TwiceIsOnce) {
  const std::string once = VisibleText("a\x1b\u202e\xff");
  EXPECT_EQ(VisibleText(once), once);
}

}  // namespace
}  // namespace orrery
