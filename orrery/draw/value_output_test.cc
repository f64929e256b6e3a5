#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "orrery/base/document/value.h"
#include "orrery/draw/format.h"

namespace orrery::draw {
namespace {

Value Sample() {
  Value rows = Value::List();
  rows.Add(Value::Object().Set("rank", 0).Set("value", 0.5));
  rows.Add(Value::Object().Set("rank", 1).Set("value", Value()));
  return Value::Object().Set("steps", "none").Set("estimated", true).Set("per_rank", rows);
}

std::string Compact(const Value& value) {
  std::string json;
  AppendJson(value, -1, json);
  return json;
}

TEST(ValueOutputTest, CompactJsonHasNoBlanks) {
  EXPECT_EQ(Compact(Sample()),
            R"json({"steps":"none","estimated":true,"per_rank":[{"rank":0,"value":0.5},)json"
            R"json({"rank":1,"value":null}]})json");
}

TEST(ValueOutputTest, DocumentsAreIndentedByTwo) {
  Value gpus = Value::List();
  gpus.Add("H200").Add(Value());
  const Value inner = Value::Object().Set("ok", true);
  EXPECT_EQ(JsonText(Value::Object().Set("ranks", 8).Set("gpus", gpus).Set("inner", inner)),
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

TEST(ValueOutputTest, EmptyContainersStayOnOneLine) {
  EXPECT_EQ(JsonText(Value::Object().Set("a", Value::List()).Set("b", Value::Object())),
            "{\n  \"a\": [],\n  \"b\": {}\n}\n");
}

TEST(ValueOutputTest, TextAndKeysAreEscaped) {
  EXPECT_EQ(Compact("a\"b\\c\n\r\t"), R"("a\"b\\c\n\r\t")");
  EXPECT_EQ(Compact(std::string_view("\0\x1f\x7f", 3)), "\"\\u0000\\u001f\x7f\"");
  EXPECT_EQ(Compact("5 µs · é"), "\"5 µs · é\"");
  EXPECT_EQ(Compact(Value::Object().Set("a\"b", Value())), R"({"a\"b":null})");
}

TEST(ValueOutputTest, BytesThatAreNotUtf8BecomeReplacementCharacters) {
  EXPECT_EQ(Compact("a\xff"
                    "b\xc3"),
            "\"a\uFFFDb\uFFFD\"");
}

TEST(ValueOutputTest, NumbersHaveTheFewestDigitsThatReadBack) {
  EXPECT_EQ(Compact(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(Compact(0.1), "0.1");
  EXPECT_EQ(Compact(0.1 + 0.2), "0.30000000000000004");
  EXPECT_EQ(Compact(1e300), "1e+300");
}

TEST(ValueOutputTest, WhatIsNotFiniteBecomesNull) {
  EXPECT_EQ(Compact(std::nan("")), "null");
  EXPECT_EQ(Compact(std::numeric_limits<double>::infinity()), "null");
  EXPECT_EQ(Compact(-std::numeric_limits<double>::infinity()), "null");
}

TEST(ValueOutputTest, TextShowsListsOfObjectsAsTables) {
  EXPECT_EQ(ValueText(Sample(), 2, 1),
            "  steps: none\n"
            "  estimated: yes\n"
            "  per_rank\n"
            "    rank  value\n"
            "    ----  -----\n"
            "       0    0.5\n"
            "    … 1 more (--json has all)\n");
}

}  // namespace
}  // namespace orrery::draw
