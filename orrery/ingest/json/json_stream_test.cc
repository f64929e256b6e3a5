#include "orrery/ingest/json/json_stream.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/base/file/byte_source.h"

namespace orrery::ingest {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Serves at most one byte a call, so that every refill happens.
class DripSource : public ByteSource {
 public:
  explicit DripSource(std::string_view bytes) : rest_(bytes) {}

  Result<std::size_t> Read(std::span<char> buffer) override {
    const std::size_t count = std::min({buffer.size(), rest_.size(), std::size_t{1}});
    std::copy_n(rest_.begin(), count, buffer.begin());
    rest_.remove_prefix(count);
    return count;
  }

 private:
  std::string_view rest_;
};

// The elements of the array in `key` of a document, and how the stream ended.
struct Walk {
  std::vector<std::string> elements;
  std::vector<std::string> keys;
  JsonEnd end = JsonEnd::kNotYet;
  std::int64_t stray_commas = 0;
  std::int64_t missing_commas = 0;
  std::int64_t value_offset = 0;
  std::string error;
};

Status WalkDocument(JsonStream& stream, Walk& walk) {
  ORRERY_TRY_STATUS(stream.EnterObject());
  while (true) {
    ORRERY_TRY(const auto key, stream.NextKey());
    if (!key) {
      return {};
    }
    walk.keys.emplace_back(*key);
    if (*key != "list") {
      continue;
    }
    ORRERY_TRY_STATUS(stream.EnterArray());
    while (true) {
      ORRERY_TRY(const auto element, stream.NextElement());
      if (!element) {
        break;
      }
      walk.elements.emplace_back(*element);
    }
  }
}

Walk WalkFrom(ByteSource& source, JsonLimits limits = {}) {
  Walk walk;
  JsonStream stream(source, limits);
  if (const Status status = WalkDocument(stream, walk); !status) {
    walk.error = status.error().message();
  }
  walk.end = stream.end();
  walk.stray_commas = stream.num_stray_commas();
  walk.missing_commas = stream.num_missing_commas();
  walk.value_offset = stream.value_offset();
  return walk;
}

Walk WalkText(std::string_view text, JsonLimits limits = {}) {
  DripSource drip(text);
  const Walk walk = WalkFrom(drip, limits);
  const auto whole = OpenMemory(text);
  const Walk again = WalkFrom(*whole, limits);
  EXPECT_EQ(walk.elements, again.elements) << "the answer depends on how bytes arrive";
  EXPECT_EQ(walk.end, again.end);
  EXPECT_EQ(walk.error, again.error);
  return walk;
}

TEST(JsonStream, GivesKeysAndTheElementsOfAnArray) {
  const Walk walk = WalkText(
      R"({"a": 1, "skipped": {"list": [9]}, "list": [1, "two]", {"x": ["\"}"]}, [ 4 ], true], "z": null})");
  EXPECT_THAT(walk.keys, ElementsAre("a", "skipped", "list", "z"));
  EXPECT_THAT(walk.elements, ElementsAre("1", R"("two]")", R"({"x": ["\"}"]})", "[ 4 ]", "true"));
  EXPECT_EQ(walk.end, JsonEnd::kComplete);
  EXPECT_EQ(walk.error, "");
}

TEST(JsonStream, TakesAValueAsText) {
  const auto source = OpenMemory(R"({"a": {"b": [1, 2]}, "c": "d", "e": -1.5})");
  JsonStream stream(*source);
  ASSERT_TRUE(stream.EnterObject());
  std::vector<std::string> values;
  while (*stream.NextKey()) {
    values.emplace_back(**stream.TakeValue());
  }
  EXPECT_THAT(values, ElementsAre(R"({"b": [1, 2]})", R"("d")", "-1.5"));
}

TEST(JsonStream, SkipsAByteOrderMarkAndReadsEmptyContainers) {
  const Walk walk = WalkText("\xEF\xBB\xBF {\"list\":[],\"a\":{}}");
  EXPECT_THAT(walk.keys, ElementsAre("list", "a"));
  EXPECT_EQ(walk.end, JsonEnd::kComplete);
}

TEST(JsonStream, KeepsCompleteElementsOfACutDocumentWhereverItIsCut) {
  const std::string text = R"({"list": [{"a": "x\"y"}, {"b": [1, 2]}, 345], "end": 12})";
  // The elements end at these bytes; a number is only complete when something follows it.
  const std::vector<std::size_t> complete_at{text.find("},") + 1, text.find("]}") + 2,
                                             text.find("345") + 4};
  for (std::size_t cut = 0; cut < text.size(); ++cut) {
    const Walk walk = WalkText(text.substr(0, cut));
    const auto expected = std::count_if(complete_at.begin(), complete_at.end(),
                                        [&](std::size_t end) { return end <= cut; });
    EXPECT_EQ(walk.elements.size(), static_cast<std::size_t>(expected)) << "cut at " << cut;
    EXPECT_NE(walk.end, JsonEnd::kComplete) << "cut at " << cut;
    EXPECT_EQ(walk.error, "") << "cut at " << cut;
  }
}

TEST(JsonStream, TellsACutValueFromMissingBrackets) {
  EXPECT_EQ(WalkText(R"({"list": [{"a": 1}, {"b": 2})").end, JsonEnd::kBetweenValues);
  EXPECT_EQ(WalkText("{\"list\": [{\"a\": 1},\n").end, JsonEnd::kBetweenValues);
  const Walk cut = WalkText(R"({"list": [{"a": 1}, {"b": )");
  EXPECT_EQ(cut.end, JsonEnd::kInsideValue);
  EXPECT_EQ(cut.value_offset, 20);
}

TEST(JsonStream, TreatsZeroBytesAtTheEndAsTheEnd) {
  const std::string text = std::string(R"({"list": [1, 2, )") + std::string(100, '\0');
  const Walk walk = WalkText(text);
  EXPECT_THAT(walk.elements, ElementsAre("1", "2"));
  EXPECT_EQ(walk.end, JsonEnd::kBetweenValues);
}

TEST(JsonStream, CountsStrayAndMissingCommas) {
  const Walk walk = WalkText(R"({"list": [1,, 2 3,], "a": 1,})");
  EXPECT_THAT(walk.elements, ElementsAre("1", "2", "3"));
  EXPECT_EQ(walk.stray_commas, 3);
  EXPECT_EQ(walk.missing_commas, 1);
}

TEST(JsonStream, RefusesNestingBeyondTheLimit) {
  // Object and list are two levels, so 62 more fit.
  const auto nested = [](std::size_t depth) {
    return "{\"list\": [" + std::string(depth, '[') + std::string(depth, ']') + "]}";
  };
  EXPECT_EQ(WalkText(nested(62)).error, "");
  EXPECT_THAT(WalkText(nested(63)).error, HasSubstr("byte 72: JSON is nested deeper than 64"));
}

TEST(JsonStream, RefusesAValueBeyondTheLimitButSkipsOne) {
  const std::string big(5000, 'x');
  const JsonLimits limits{.max_value_bytes = 1000};
  const Walk taken = WalkText("{\"list\": [\"" + big + "\"]}", limits);
  EXPECT_THAT(taken.error, HasSubstr("larger than 1000 bytes"));
  const Walk skipped = WalkText("{\"a\": \"" + big + "\", \"list\": [1]}", limits);
  EXPECT_EQ(skipped.error, "");
  EXPECT_THAT(skipped.elements, ElementsAre("1"));
}

TEST(JsonStream, SaysWhereSomethingElseWasExpected) {
  EXPECT_EQ(WalkText("[1]").error, "byte 0: an object should come here, not '['");
  EXPECT_EQ(WalkText(R"({"list" 1})").error, "byte 8: a colon should come here, not '1'");
  EXPECT_EQ(WalkText(R"({list: 1})").error, "byte 1: a key should come here, not 'l'");
  EXPECT_EQ(WalkText(R"({"a": })").error, "byte 6: a value should come here, not '}'");
}

}  // namespace
}  // namespace orrery::ingest
