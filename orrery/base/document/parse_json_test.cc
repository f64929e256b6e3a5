#include "orrery/base/document/parse_json.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "orrery/base/document/value.h"

namespace orrery {
namespace {

std::string Nested(std::size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

TEST(ParseJsonTest, ReadsEachKindOfValue) {
  const auto value = ParseJson(R"({"a": [1, -2.5, "x\ny", true, null], "b": {}})");
  ASSERT_TRUE(value);

  Value items = Value::List();
  items.Add(1).Add(-2.5).Add("x\ny").Add(true).Add(Value());
  EXPECT_EQ(*value, Value::Object().Set("a", items).Set("b", Value::Object()));
}

TEST(ParseJsonTest, KeepsIntegersExactAsFarAsTheyFit) {
  EXPECT_EQ(ParseJson("9223372036854775807"), Value(std::int64_t{9223372036854775807}));
  EXPECT_EQ(ParseJson("18446744073709551615"), Value(18446744073709551615.0));
  EXPECT_EQ(ParseJson("8.0"), Value(8.0));
}

TEST(ParseJsonTest, TakesTheLastOfFieldsWithOneName) {
  EXPECT_EQ(ParseJson(R"({"a": 1, "a": 2})"), Value::Object().Set("a", 2));
}

TEST(ParseJsonTest, RefusesWhatIsNotJson) {
  for (const char* const text : {"", " ", "{", "{a: 1}", "[1,]", "1 2", "nul", "\"\xff\""}) {
    EXPECT_FALSE(ParseJson(text)) << text;
  }
}

TEST(ParseJsonTest, RefusesDeepAndWideValues) {
  EXPECT_TRUE(ParseJson(Nested(kDeepestJson - 1)));
  EXPECT_FALSE(ParseJson(Nested(kDeepestJson + 1)));

  std::string wide = "{";
  for (std::size_t field = 0; field <= kMostJsonFields; ++field) {
    wide += (field == 0 ? "\"" : ",\"") + std::to_string(field) + "\":0";
  }
  const auto refused = ParseJson(wide + "}");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(), "an object has more than 512 fields");
}

}  // namespace
}  // namespace orrery
