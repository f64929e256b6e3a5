#include "orrery/ingest/json/json_records.h"

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/ingest/input_file.h"
#include "orrery/trace/problems.h"

namespace orrery::ingest {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr std::array<std::string_view, 2> kKeys{"a", "b"};

struct Reading {
  std::vector<JsonRecord> records;
  trace::ProblemLog problems;
};

Reading ReadText(std::string_view text) {
  Reading reading;
  auto records = ReadJsonRecords(*InputFile::FromMemory("x.jsonl", text), kKeys, reading.problems);
  EXPECT_TRUE(records.has_value());
  reading.records = records ? *records : std::vector<JsonRecord>();
  return reading;
}

TEST(JsonRecordsTest, ObjectsMayStandOnLinesOfTheirOwnOrNot) {
  for (const std::string_view text :
       {"{\"a\":1,\"c\":{\"a\":9}}\n{\"b\":[2, 3]}\n", "\xEF\xBB\xBF{\"a\": 1}{\"b\":[2,3]}",
        "{\n \"a\": 1\n}\n\n{\n \"b\": [2,\n3]\n}"}) {
    const Reading reading = ReadText(text);

    EXPECT_THAT(reading.records,
                ElementsAre(ElementsAre(Pair("a", "1")), ElementsAre(Pair("b", "[2,3]"))))
        << text;
    EXPECT_THAT(reading.problems.all(), IsEmpty()) << text;
  }
}

TEST(JsonRecordsTest, TheLastOfEqualKeysCounts) {
  EXPECT_THAT(ReadText(R"json({"a":1,"a":2})json").records,
              ElementsAre(ElementsAre(Pair("a", "2"))));
}

// Wherever the text is truncated, the fields that were complete are there: a from after its comma
// on (a number that touches the end may have lost digits), b never, since its object is not closed
// before the last character.
TEST(JsonRecordsTest, ACutRecordKeepsItsCompleteFields) {
  const std::string text = R"json({"a":17,"b":[1,2]})json";
  for (std::size_t size = 1; size < text.size(); ++size) {
    const Reading reading = ReadText(text.substr(0, size));

    const bool has_first = size >= text.find(',') + 1;
    const bool has_second = size >= text.find(']') + 1;
    ASSERT_EQ(reading.records.size(), has_first ? 1U : 0U) << size;
    if (has_first) {
      EXPECT_EQ(reading.records[0].at("a"), "17");
      EXPECT_EQ(reading.records[0].contains("b"), has_second) << size;
    }
    EXPECT_TRUE(reading.problems.has_loss()) << size;
  }
}

TEST(JsonRecordsTest, WhatIsNoRecordIsALossAndTheRestIsRead) {
  const Reading reading = ReadText("{\"a\":1}\n[7]\n{\"a\" 2}\n{\"a\":3}\n");

  EXPECT_THAT(reading.records,
              ElementsAre(ElementsAre(Pair("a", "1")), ElementsAre(Pair("a", "3"))));
  ASSERT_EQ(reading.problems.all().size(), 1U);
  EXPECT_EQ(reading.problems.all()[0].count, 2);
  EXPECT_EQ(reading.problems.all()[0].first, "byte 8");
}

TEST(JsonRecordsTest, AStrayClosingBracketEndsTheReadingWithALoss) {
  const Reading reading = ReadText(R"json({"a":1}]{"a":2})json");

  EXPECT_EQ(reading.records.size(), 1U);
  ASSERT_EQ(reading.problems.all().size(), 1U);
  EXPECT_EQ(reading.problems.all()[0].first, "byte 7");
  EXPECT_TRUE(reading.problems.has_loss());
}

TEST(JsonRecordsTest, NumbersThatAreNoneAreMissing) {
  const JsonRecord record{
      {"nan", "null"}, {"text", "\"1.5\""}, {"list", "[1]"}, {"whole", "12.0"}, {"part", "12.5"}};

  EXPECT_EQ(NumberIn(record, "nan"), std::nullopt);
  EXPECT_EQ(NumberIn(record, "text"), 1.5);
  EXPECT_EQ(NumberIn(record, "list"), std::nullopt);
  EXPECT_EQ(NumberIn(record, "absent"), std::nullopt);
  EXPECT_EQ(IntegerIn(record, "whole"), 12);
  EXPECT_EQ(IntegerIn(record, "part"), std::nullopt);
  EXPECT_EQ(IntegerIn(record, "absent"), std::nullopt);
}

TEST(JsonRecordsTest, OnlyKeysOfTheTopLevelCountInAHead) {
  EXPECT_TRUE(HeadHasKeys(R"json({"a":1,"b":[1,2)json", kKeys));
  EXPECT_FALSE(HeadHasKeys(R"json({"a":{"b":1}})json", kKeys));
  EXPECT_FALSE(HeadHasKeys(R"json([{"a":1,"b":2}])json", kKeys));
  EXPECT_FALSE(HeadHasKeys("", kKeys));
}

}  // namespace
}  // namespace orrery::ingest
