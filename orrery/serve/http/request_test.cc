#include "orrery/serve/http/request.h"

#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace orrery::serve {
namespace {

Query Parsed(std::string_view text) {
  const auto query = Query::Parse(text);
  EXPECT_TRUE(query) << text;
  return query.value_or(Query());
}

std::string WhyNot(std::string_view text) {
  const auto query = Query::Parse(text);
  return query ? "" : query.error().message();
}

TEST(QueryTest, ValuesAreDecoded) {
  const Query query = Parsed("run=1&text=a%20b%2Fc+d%2B&name=%C3%BC&empty=");
  EXPECT_EQ(query.Number("run").value_or(-9), 1);
  EXPECT_EQ(query.Text("text").value_or("?"), "a b/c d+");
  EXPECT_EQ(query.Text("name").value_or("?"), "ü");
  EXPECT_EQ(query.Text("empty").value_or("?"), "");
  EXPECT_EQ(query.Text("absent").value_or("?"), "");
}

TEST(QueryTest, NothingIsAnEmptyQuery) {
  EXPECT_EQ(Parsed("").Text("run").value_or("?"), "");
}

TEST(QueryTest, AnEqualsSignMayBePartOfAValue) {
  EXPECT_EQ(Parsed("text=a=b").Text("text").value_or("?"), "a=b");
}

TEST(QueryTest, WhatIsNotNameAndValueIsRefused) {
  for (const char* text : {"a", "=1", "&", "a=1&", "&a=1", "a=1&&b=2", "a=1&b"}) {
    EXPECT_EQ(WhyNot(text), "the part of an address behind ? is made of name=value") << text;
  }
}

TEST(QueryTest, BrokenEscapesAreRefused) {
  for (const char* text : {"a=%", "a=%4", "a=%zz", "a=%4g", "%=1", "a=%00", "a=%%41"}) {
    EXPECT_EQ(WhyNot(text), "an address has an escape that is no %XX") << text;
  }
}

TEST(QueryTest, OnlyPrintableCharactersMayStandThere) {
  for (const char* text : {"a= ", "a=\x01", "a=\x7f", "a=\xc3\xbc", "a\n=1"}) {
    EXPECT_EQ(WhyNot(text), "an address has only printable ASCII characters");
  }
  EXPECT_NE(WhyNot(std::string_view("a=\0", 3)), "");
}

TEST(QueryTest, ANameMayStandThereOnce) {
  EXPECT_EQ(WhyNot("a=1&b=2&a=1"), "an address gives a value twice");
  EXPECT_EQ(WhyNot("a=1&%61=2"), "an address gives a value twice");
}

TEST(QueryTest, SixteenValuesAreTheMost) {
  std::string text = "v0=0";
  for (int i = 1; i < 16; ++i) {
    text += "&v" + std::to_string(i) + "=0";
  }
  EXPECT_EQ(WhyNot(text), "");
  EXPECT_EQ(WhyNot(text + "&v16=0"), "an address has at most 16 values");
}

TEST(QueryTest, NumbersAreWhole) {
  const Query query = Parsed("a=5&b=-5&c=5.0&d=%205&e=9223372036854775808&f=&g=%2B5&h=0x5");
  EXPECT_EQ(query.Number("a").value_or(0), 5);
  EXPECT_EQ(query.Number("b").value_or(0), -5);
  for (const char* name : {"c", "d", "e", "f", "g", "h"}) {
    EXPECT_FALSE(query.Number(name)) << name;
  }
  EXPECT_EQ(query.Number("c").error().message(), "c must be a whole number");
  EXPECT_EQ(query.Number("absent").value_or(0), std::nullopt);
}

TEST(QueryTest, TextIsUtf8OfAtMostAThousandBytes) {
  EXPECT_EQ(Parsed("a=%ff").Text("a").error().message(), "a is not UTF-8");
  EXPECT_EQ(Parsed("a=%C3").Text("a").error().message(), "a is not UTF-8");
  EXPECT_TRUE(Parsed("a=" + std::string(1'000, 'x')).Text("a"));
  EXPECT_EQ(Parsed("a=" + std::string(1'001, 'x')).Text("a").error().message(),
            "a has more than 1000 bytes");
}

}  // namespace
}  // namespace orrery::serve
