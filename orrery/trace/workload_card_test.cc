#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "orrery/trace/trace_set.h"

namespace orrery::trace {
namespace {

WorkloadCard CardOf(std::string value) {
  return {.file = "card.yaml", .values = {{"x", std::move(value)}}};
}

TEST(WorkloadCardTest, WhatIsNotThereIsAbsent) {
  const WorkloadCard card;

  EXPECT_EQ(card.Text("x"), std::nullopt);
  EXPECT_EQ(card.Integer("x"), std::nullopt);
  EXPECT_EQ(card.Number("x"), std::nullopt);
}

TEST(WorkloadCardTest, NumbersAreReadAsPeopleWriteThem) {
  EXPECT_EQ(CardOf("4096").Integer("x"), 4096);
  EXPECT_EQ(CardOf(" 16_384 ").Integer("x"), 16'384);
  EXPECT_EQ(CardOf("1,024").Integer("x"), 1'024);
  EXPECT_EQ(CardOf("7e9").Integer("x"), 7'000'000'000);
  EXPECT_EQ(CardOf("8B").Integer("x"), 8'000'000'000);
  EXPECT_EQ(CardOf("1.5k").Integer("x"), 1'500);
  EXPECT_EQ(CardOf("0.35 M").Number("x"), 350'000.0);
  EXPECT_EQ(CardOf("-2.5").Number("x"), -2.5);
}

TEST(WorkloadCardTest, IntegersKeepAllTheirDigits) {
  EXPECT_EQ(CardOf("9007199254740993").Integer("x"), 9'007'199'254'740'993);  // 2^53 + 1
}

TEST(WorkloadCardTest, WordsAreNoNumbers) {
  for (const char* text : {"N/A", "TBD", "", "8 GPUs", "2.27.5", "0x10", "B", "nan", "inf"}) {
    EXPECT_EQ(CardOf(text).Number("x"), std::nullopt) << text;
    EXPECT_EQ(CardOf(text).Integer("x"), std::nullopt) << text;
  }
}

TEST(WorkloadCardTest, AFractionIsNoInteger) {
  EXPECT_EQ(CardOf("2.5").Integer("x"), std::nullopt);
  EXPECT_EQ(CardOf("1e30").Integer("x"), std::nullopt);
}

}  // namespace
}  // namespace orrery::trace
