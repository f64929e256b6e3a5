#include "orrery/draw/json_writer.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace orrery::draw {
namespace {

constexpr auto kCompact = JsonWriter::Layout::kCompact;

std::string Quoted(std::string_view text) {
  return JsonWriter(kCompact).String(text).Finish();
}

std::string Written(double value) {
  return JsonWriter(kCompact).Number(value).Finish();
}

TEST(JsonWriterTest, PrettyDocumentsAreIndentedByTwo) {
  JsonWriter json;
  json.BeginObject().Key("ranks").Integer(8).Key("gpus").BeginArray().String("H200").Null();
  json.EndArray().Key("inner").BeginObject().Key("ok").Bool(true).EndObject().EndObject();

  EXPECT_EQ(json.Finish(),
            "{\n"
            "  \"ranks\": 8,\n"
            "  \"gpus\": [\n"
            "    \"H200\",\n"
            "    null\n"
            "  ],\n"
            "  \"inner\": {\n"
            "    \"ok\": true\n"
            "  }\n"
            "}\n");
}

TEST(JsonWriterTest, CompactDocumentsHaveNoBlanks) {
  JsonWriter json(kCompact);
  json.BeginArray().Integer(1).BeginObject().Key("a").Bool(false).EndObject().EndArray();

  EXPECT_EQ(json.Finish(), R"([1,{"a":false}])");
}

TEST(JsonWriterTest, EmptyContainersStayOnOneLine) {
  JsonWriter json;
  json.BeginObject().Key("a").BeginArray().EndArray().Key("b").BeginObject().EndObject();
  json.EndObject();

  EXPECT_EQ(json.Finish(), "{\n  \"a\": [],\n  \"b\": {}\n}\n");
}

TEST(JsonWriterTest, SpecialCharactersAreEscaped) {
  EXPECT_EQ(Quoted("a\"b\\c\n\r\t"), R"("a\"b\\c\n\r\t")");
  EXPECT_EQ(Quoted(std::string_view("\0\x1f\x7f", 3)), "\"\\u0000\\u001f\x7f\"");
  EXPECT_EQ(Quoted("5 µs · é"), "\"5 µs · é\"");
}

TEST(JsonWriterTest, KeysAreEscapedToo) {
  EXPECT_EQ(JsonWriter(kCompact).BeginObject().Key("a\"b").Null().EndObject().Finish(),
            R"({"a\"b":null})");
}

TEST(JsonWriterTest, BytesThatAreNotUtf8BecomeReplacementCharacters) {
  EXPECT_EQ(Quoted("a\xff"
                   "b\xc3"),
            "\"a\uFFFDb\uFFFD\"");
}

TEST(JsonWriterTest, IntegersKeepAllTheirDigits) {
  JsonWriter json(kCompact);
  json.BeginArray();
  json.Integer(std::numeric_limits<std::int64_t>::min());
  json.Unsigned(std::numeric_limits<std::uint64_t>::max());
  json.EndArray();

  EXPECT_EQ(json.Finish(), "[-9223372036854775808,18446744073709551615]");
}

TEST(JsonWriterTest, NumbersHaveTheFewestDigitsThatReadBack) {
  EXPECT_EQ(Written(0.1), "0.1");
  EXPECT_EQ(Written(0.1 + 0.2), "0.30000000000000004");
  EXPECT_EQ(Written(1e300), "1e+300");
}

TEST(JsonWriterTest, WhatIsNotFiniteBecomesNull) {
  EXPECT_EQ(Written(std::nan("")), "null");
  EXPECT_EQ(Written(std::numeric_limits<double>::infinity()), "null");
  EXPECT_EQ(Written(-std::numeric_limits<double>::infinity()), "null");
}

TEST(JsonWriterDeathTest, WrongNestingIsOurMistake) {
  EXPECT_DEATH(JsonWriter().Key("a"), "a key belongs into an object");
  EXPECT_DEATH(JsonWriter().BeginArray().Key("a"), "a key belongs into an object");
  EXPECT_DEATH(JsonWriter().BeginObject().Null(), "a value in an object has a key");
  EXPECT_DEATH(JsonWriter().BeginObject().Key("a").Key("b"), "a key is followed by a value");
  EXPECT_DEATH(JsonWriter().BeginObject().Key("a").EndObject(), "a key is followed by a value");
  EXPECT_DEATH(JsonWriter().BeginObject().EndArray(), "what ends is what began last");
  EXPECT_DEATH(JsonWriter().EndObject(), "what ends is what began last");
  EXPECT_DEATH(JsonWriter().Null().Null(), "a document is one value");
  EXPECT_DEATH(static_cast<void>(JsonWriter().Finish()), "one complete value");
  EXPECT_DEATH(static_cast<void>(JsonWriter().BeginArray().Finish()), "one complete value");
}

}  // namespace
}  // namespace orrery::draw
