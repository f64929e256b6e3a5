#include "orrery/ingest/json/json_repair.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <simdjson.h>

#include "orrery/trace/problems.h"

namespace orrery::ingest {
namespace {

struct Repaired {
  std::string text;
  JsonRepairs repairs;
};

Repaired Repair(std::string_view text) {
  Repaired repaired;
  repaired.text = RepairJson(text, repaired.repairs);
  return repaired;
}

bool ParsesStrictly(const std::string& text) {
  simdjson::dom::parser parser;
  return parser.parse(text).error() == simdjson::SUCCESS;
}

TEST(JsonRepair, LeavesSoundTextAloneExceptForBlanks) {
  const auto repaired =
      Repair("{ \"a b\" : [1, -2.5e3,\n true, null, \"\\u00e4\\ud83d\\ude00 ä\"] }");
  EXPECT_EQ(repaired.text, "{\"a b\":[1,-2.5e3,true,null,\"\\u00e4\\ud83d\\ude00 ä\"]}");
  EXPECT_FALSE(repaired.repairs.any());
}

TEST(JsonRepair, EscapesRawControlCharactersInStrings) {
  const auto repaired = Repair("[\"one\ntwo\tthree\x01\"]");
  EXPECT_EQ(repaired.text, "[\"one\\u000atwo\\u0009three\\u0001\"]");
  EXPECT_EQ(repaired.repairs, JsonRepairs{.control_characters = 3});
  EXPECT_TRUE(ParsesStrictly(repaired.text));
}

TEST(JsonRepair, ReplacesInvalidUtf8) {
  // A stray continuation byte, a cut sequence, an overlong "/", a surrogate and a point beyond
  // U+10FFFF. The cut sequence could have become a character and counts once, the others count
  // each byte: 1 + 1 + 2 + 3 + 4.
  const auto repaired = Repair("\"a\x80 \xE2\x82 \xC0\xAF \xED\xA0\x80 \xF4\x90\x80\x80 z\"");
  EXPECT_EQ(repaired.repairs, JsonRepairs{.invalid_utf8 = 11});
  EXPECT_TRUE(ParsesStrictly(repaired.text));
  EXPECT_TRUE(repaired.text.starts_with("\"a\xEF\xBF\xBD "));
}

TEST(JsonRepair, KeepsValidUtf8OfEveryLength) {
  const std::string text = "\"ä € 😀 \x7F\"";
  const auto repaired = Repair(text);
  EXPECT_EQ(repaired.text, text);
  EXPECT_FALSE(repaired.repairs.any());
}

TEST(JsonRepair, ReplacesLoneSurrogatesAndKeepsPairs) {
  const auto repaired = Repair(R"(["\ud83d", "\ude00", "\ud83d\u0041", "\ud83d\ude00"])");
  EXPECT_EQ(repaired.text,
            "[\"\xEF\xBF\xBD\",\"\xEF\xBF\xBD\",\"\xEF\xBF\xBD\\u0041\","
            "\"\\ud83d\\ude00\"]");
  EXPECT_EQ(repaired.repairs, JsonRepairs{.lone_surrogates = 3});
  EXPECT_TRUE(ParsesStrictly(repaired.text));
}

TEST(JsonRepair, TurnsUnknownEscapesIntoText) {
  const auto repaired = Repair(R"(["C:\xampp", "\u12G4"])");
  EXPECT_EQ(repaired.text, R"(["C:\\xampp","\\u12G4"])");
  EXPECT_EQ(repaired.repairs, JsonRepairs{.invalid_escapes = 2});
}

TEST(JsonRepair, TurnsBareNonNumbersIntoNull) {
  const auto repaired = Repair("{\"a\":NaN,\"b\":-Infinity,\"c\":Infinity,\"d\":-nan,\"e\":-5}");
  EXPECT_EQ(repaired.text, "{\"a\":null,\"b\":null,\"c\":null,\"d\":null,\"e\":-5}");
  EXPECT_EQ(repaired.repairs, JsonRepairs{.non_numbers = 4});
}

TEST(JsonRepair, LeavesNonNumbersInsideStringsAlone) {
  const auto repaired = Repair("[\"NaN, Infinity,]\"]");
  EXPECT_EQ(repaired.text, "[\"NaN, Infinity,]\"]");
  EXPECT_FALSE(repaired.repairs.any());
}

TEST(JsonRepair, RemovesCommasThatSeparateNothing) {
  const auto repaired = Repair("{\"a\":[1, 2 , ],\"b\":[,3,,4],}");
  EXPECT_EQ(repaired.text, "{\"a\":[1,2],\"b\":[3,4]}");
  EXPECT_EQ(repaired.repairs, JsonRepairs{.stray_commas = 4});
}

TEST(JsonRepair, LeavesStructuralDamageToTheParser) {
  EXPECT_FALSE(ParsesStrictly(Repair("{\"a\":1").text));
  EXPECT_FALSE(ParsesStrictly(Repair("[\"open").text));
  EXPECT_FALSE(ParsesStrictly(Repair("[\"ends in a backslash\\").text));
  EXPECT_FALSE(ParsesStrictly(Repair("{\"a\":wrong}").text));
  EXPECT_EQ(Repair("").text, "");
}

TEST(JsonRepair, LogsOneNoteForEachKind) {
  trace::ProblemLog problems;
  LogRepairs({.control_characters = 2, .stray_commas = 1}, "byte 7", problems);
  ASSERT_EQ(problems.all().size(), 2U);
  EXPECT_EQ(problems.all()[0].count, 2);
  EXPECT_EQ(problems.all()[0].first, "byte 7");
  EXPECT_FALSE(problems.has_loss());
}

}  // namespace
}  // namespace orrery::ingest
