#include "orrery/ingest/kineto/event_stream.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "orrery/base/file/byte_source.h"
#include "orrery/ingest/kineto/window_parser.h"

namespace orrery::ingest::kineto {
namespace {

std::optional<std::size_t> ListIn(std::string_view text) {
  return FindEventList(text);
}

TEST(EventStreamTest, TheListIsTheMemberOfTheOutermostObject) {
  const std::string text =
      R"({"a": {"traceEvents": [1]}, "b": "\"traceEvents\": [", "traceEvents" : [)";

  EXPECT_EQ(ListIn(text + " 5"), text.size());
  EXPECT_EQ(ListIn(" [ {"), 2U);
  EXPECT_EQ(ListIn(R"({"traceEvents": 5, "x": [)"), std::nullopt);
  EXPECT_EQ(ListIn(R"({"traceEv)"), std::nullopt);
}

TEST(EventStreamTest, BoundariesAreBetweenObjects) {
  const std::string text = R"({"a":1} , {"b":{"c":2}},
  {"d":3})";

  EXPECT_EQ(FindBoundary(text, 0), text.find(R"({"b")"));
  EXPECT_EQ(FindLastBoundary(text), text.find(R"({"d")"));
  EXPECT_EQ(FindLastBoundary(R"({"a":{"b":1}})"), 0U);
}

// Windows and separators assembled again are the file.
TEST(EventStreamTest, NothingIsLostBetweenWindows) {
  std::string events;
  for (int i = 0; i < 60'000; ++i) {
    events += R"({"name": "event )" + std::to_string(i) + "\"}, \n ";
  }
  const std::string text = "{\"traceEvents\": [" + events + "{}]}";
  EventStream stream(OpenMemory(text), 256);
  ASSERT_TRUE(stream.FindList().value());
  std::string together = stream.head();
  Window window(16);
  std::string separator;
  int num_windows = 0;
  while (stream.Next(window, separator).value()) {
    EXPECT_EQ(window.offset, static_cast<std::int64_t>(together.size()));
    together += window.view();
    together += separator;
    ++num_windows;
  }

  EXPECT_EQ(together, text);
  EXPECT_GT(num_windows, 20);
}

TEST(EventStreamTest, AnEventLongerThanAWindowMakesTheWindowGrow) {
  const std::string text = "[{\"name\": \"" + std::string(5000, 'x') + "\"}, {}]";
  EventStream stream(OpenMemory(text), 256);
  ASSERT_TRUE(stream.FindList().value());
  Window window(16);
  std::string separator;

  ASSERT_TRUE(stream.Next(window, separator).value());

  EXPECT_GT(window.view().size(), 5000U);
}

}  // namespace
}  // namespace orrery::ingest::kineto
