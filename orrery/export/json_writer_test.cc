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

}  // namespace
}  // namespace orrery::exporting
