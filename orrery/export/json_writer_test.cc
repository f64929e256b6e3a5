#include "orrery/export/json_writer.h"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/base/file/byte_sink.h"
#include "orrery/base/string_table.h"

namespace orrery::exporting {
namespace {

template <typename Write>
std::string Written(Write&& write) {
  MemorySink sink;
  JsonWriter json(sink);
  write(json);
  EXPECT_TRUE(json.Flush());
  return sink.bytes();
}

std::string MicrosecondsOf(std::int64_t nanoseconds) {
  return Written([&](JsonWriter& json) { json.Write(JsonMicroseconds{nanoseconds}); });
}

class FailingSink : public ByteSink {
 public:
  Status Write(std::string_view) override { return Fail(Error::Kind::kSystem, "the disk is full"); }

  Status Close() override { return {}; }
};

TEST(JsonWriterTest, MicrosecondsHaveThreeDecimals) {
  EXPECT_EQ(MicrosecondsOf(0), "0.000");
  EXPECT_EQ(MicrosecondsOf(7), "0.007");
  EXPECT_EQ(MicrosecondsOf(1'234'567'890'123), "1234567890.123");
  EXPECT_EQ(MicrosecondsOf(-1'050), "-1.050");
  EXPECT_EQ(MicrosecondsOf(std::numeric_limits<std::int64_t>::min()), "-9223372036854775.808");
}

TEST(JsonWriterTest, NumbersThatJsonDoesNotKnowAreNull) {
  const auto written = [](double value) {
    return Written([&](JsonWriter& json) { json.Write(value); });
  };
  EXPECT_EQ(written(std::numeric_limits<double>::quiet_NaN()), "null");
  EXPECT_EQ(written(-std::numeric_limits<double>::infinity()), "null");
  EXPECT_EQ(written(0.1), "0.1");
  EXPECT_EQ(written(-std::numeric_limits<double>::max()), "-1.7976931348623157e+308");
}

TEST(JsonWriterTest, TextLongerThanTheBufferComesOutWhole) {
  const std::string longer(3 << 20, 'x');
  const std::string written =
      Written([&](JsonWriter& json) { json.Write("[", JsonText{longer}, "]"); });
  EXPECT_EQ(written, "[\"" + longer + "\"]");
}

TEST(JsonWriterTest, TheFirstFailureOfTheSinkComesBack) {
  FailingSink sink;
  JsonWriter json(sink);
  json.Write(std::string(3 << 20, 'x'));
  const Status status = json.Flush();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message(), "the disk is full");
}

TEST(JsonStringsTest, KnownStringsAreEscapedEachTime) {
  StringTable table;
  const StringId plain = table.Intern("mm");
  const StringId quoted = table.Intern("\"q\"");
  JsonStrings strings(table);
  const std::string written = Written([&](JsonWriter& json) {
    for (const StringId id : {plain, quoted, plain, quoted}) {
      strings.Write(json, id);
    }
  });
  EXPECT_EQ(written, R"("mm""\"q\"""mm""\"q\"")");
}

TEST(JsonStringsTest, WhatShouldBeJsonIsValidJson) {
  StringTable table;
  const auto written = [&](std::string_view text, JsonStrings::Part part) {
    const StringId id = table.Intern(text);
    JsonStrings strings(table);
    const std::string first(strings.ValidJson(id, part));
    EXPECT_EQ(strings.ValidJson(id, part), first);
    return first;
  };
  const auto value = [&](std::string_view text) {
    return written(text, JsonStrings::Part::kValue);
  };
  const auto fields = [&](std::string_view text) {
    return written(text, JsonStrings::Part::kFields);
  };
  EXPECT_EQ(value(R"([[4, 8], ["a\"b"], 1.5e3, null])"), R"([[4, 8], ["a\"b"], 1.5e3, null])");
  EXPECT_EQ(value("[0x10, Infinity, -inf, 1]"), R"(["0x10", "Infinity", "-inf", 1])");
  EXPECT_EQ(value(R"(["a, 0x10", nan])"), R"(["a, 0x10", "nan"])");
  EXPECT_EQ(value("[1, 2"), R"("[1, 2")");
  EXPECT_EQ(value(R"("open)"), R"("\"open")");
  EXPECT_EQ(fields(R"("a": 1, "b": {"c": []})"), R"("a": 1, "b": {"c": []})");
  EXPECT_EQ(fields(R"("a": 0x10, "b": -Infinity)"), R"("a": "0x10", "b": "-Infinity")");
  EXPECT_EQ(fields(R"("a": 1}, {"b": 2)"), R"("damaged": "\"a\": 1}, {\"b\": 2")");
  EXPECT_EQ(fields(" "), R"("damaged": " ")");
}

}  // namespace
}  // namespace orrery::exporting
