#include "orrery/export/json_writer.h"

#include <cstdint>
#include <limits>
#include <string>

#include <gtest/gtest.h>

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

std::string StringOf(std::string_view text) {
  return Written([&](JsonWriter& json) { json.String(text); });
}

std::string MicrosecondsOf(std::int64_t nanoseconds) {
  return Written([&](JsonWriter& json) { json.Microseconds(nanoseconds); });
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

TEST(JsonWriterTest, QuotesBackslashesAndControlCharactersAreEscaped) {
  EXPECT_EQ(StringOf("a\"b\\c\n\t\r"), R"("a\"b\\c\n\t\r")");
  EXPECT_EQ(StringOf(std::string("\x01\0\x7f", 3)), R"("\u0001\u0000\u007f")");
}

TEST(JsonWriterTest, CharactersBeyondAsciiStayAsTheyAre) {
  EXPECT_EQ(StringOf("rank 3 · GPU 3 😀"), "\"rank 3 · GPU 3 😀\"");
}

TEST(JsonWriterTest, BytesThatAreNotUtf8BecomeReplacementCharacters) {
  EXPECT_EQ(StringOf("a\xff z"), "\"a\uFFFD z\"");
  // An overlong slash, and a character that is cut short.
  EXPECT_EQ(StringOf("\xc0\xaf"), "\"\uFFFD\uFFFD\"");
  EXPECT_EQ(StringOf("\xe2\x82"), "\"\uFFFD\"");
}

TEST(JsonWriterTest, NumbersThatJsonDoesNotKnowAreNull) {
  const auto written = [](double value) {
    return Written([&](JsonWriter& json) { json.Double(value); });
  };
  EXPECT_EQ(written(std::numeric_limits<double>::quiet_NaN()), "null");
  EXPECT_EQ(written(-std::numeric_limits<double>::infinity()), "null");
  EXPECT_EQ(written(0.1), "0.1");
  EXPECT_EQ(written(-std::numeric_limits<double>::max()), "-1.7976931348623157e+308");
}

TEST(JsonWriterTest, TextLongerThanTheBufferComesOutWhole) {
  const std::string longer(3 << 20, 'x');
  const std::string written = Written([&](JsonWriter& json) {
    json.Raw("[");
    json.String(longer);
    json.Raw("]");
  });
  EXPECT_EQ(written, "[\"" + longer + "\"]");
}

TEST(JsonWriterTest, TheFirstFailureOfTheSinkComesBack) {
  FailingSink sink;
  JsonWriter json(sink);
  json.Raw(std::string(3 << 20, 'x'));
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

}  // namespace
}  // namespace orrery::exporting
