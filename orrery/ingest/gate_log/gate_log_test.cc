#include <optional>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/ingest/format.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/registry.h"

namespace orrery::ingest::gate_log {
namespace {

using ::testing::HasSubstr;

MeasurementTable ReadText(std::string_view text) {
  const auto file = InputFile::FromMemory("gate_logs_0.json", text);
  EXPECT_TRUE(kFormat.matches(*file)) << text;
  auto content = kFormat.Read(*file, {});
  EXPECT_TRUE(content.has_value()) << content.error().message();
  return content ? content->tables.at(0) : MeasurementTable{};
}

TEST(GateLogTest, AnExpertOfAStepIsARow) {
  const MeasurementTable log =
      ReadText(R"json({"rank": 0, "expert_loads": [[10, 0], [3, 7.0]], "more": []})json");

  ASSERT_EQ(log.rows.num_rows(), 4U);
  EXPECT_EQ(log.rows.Integer(3, "step"), 1);
  EXPECT_EQ(log.rows.Integer(3, "layer"), std::nullopt);
  EXPECT_EQ(log.rows.Integer(3, "expert"), 1);
  EXPECT_EQ(log.rows.Number(3, "tokens"), 7);
  EXPECT_EQ(log.rows.Number(1, "tokens"), 0);
  EXPECT_TRUE(log.problems.all().empty());
}

TEST(GateLogTest, LayersMayStandBetweenStepAndExpert) {
  const MeasurementTable log = ReadText(R"json({"expert_loads": [[[1, 2], [3, 4]]]})json");

  ASSERT_EQ(log.rows.num_rows(), 4U);
  EXPECT_EQ(log.rows.Integer(2, "step"), 0);
  EXPECT_EQ(log.rows.Integer(2, "layer"), 1);
  EXPECT_EQ(log.rows.Integer(2, "expert"), 0);
  EXPECT_EQ(log.rows.Number(2, "tokens"), 3);
}

// An expert without a number keeps its place: the one after it is still expert 1.
TEST(GateLogTest, WhatIsNoLoadIsCounted) {
  const MeasurementTable log = ReadText(R"json({"expert_loads": [[null, 5], 8, [[1], 2]]})json");

  ASSERT_EQ(log.rows.num_rows(), 2U);
  EXPECT_EQ(log.rows.Integer(0, "expert"), 1);
  EXPECT_EQ(log.rows.Integer(1, "step"), 2);
  EXPECT_EQ(log.problems.all().size(), 3U);
  EXPECT_TRUE(log.problems.has_loss());
}

TEST(GateLogTest, ACutLogKeepsItsCompleteSteps) {
  for (const std::string_view text :
       {R"json({"expert_loads": [[1, 2], [3, )json", R"json({"expert_loads": [[1, 2])json",
        R"json({"expert_loads": [[1, 2], )json", R"json({"expert_loads": [[1, 2]])json"}) {
    const MeasurementTable log = ReadText(text);

    EXPECT_EQ(log.rows.num_rows(), 2U) << text;
    EXPECT_TRUE(log.problems.has_loss()) << text;
  }
}

TEST(GateLogTest, TextBehindTheLogIsALoss) {
  const std::string log = R"json({"expert_loads": [[1, 2]]})json";

  EXPECT_TRUE(ReadText(log + " \n").problems.all().empty());
  const MeasurementTable twice = ReadText(log + "\n" + log);
  EXPECT_EQ(twice.rows.num_rows(), 2U);
  ASSERT_EQ(twice.problems.all().size(), 1U);
  EXPECT_EQ(twice.problems.all()[0].first, "byte 26");
}

TEST(GateLogTest, ALogWithoutAStepIsRefused) {
  for (const std::string_view text :
       {R"json({"expert_loads": []})json", R"json({"expert_loads": 7})json",
        R"json({"expert_loads": [[1, 2)json"}) {
    const auto content = kFormat.Read(*InputFile::FromMemory("g.json", text), {});

    ASSERT_FALSE(content.has_value()) << text;
    EXPECT_THAT(content.error().message(), HasSubstr("g.json: a gate log without"));
  }
}

}  // namespace
}  // namespace orrery::ingest::gate_log
