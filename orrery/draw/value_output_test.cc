#include "orrery/draw/value_output.h"

#include <gtest/gtest.h>

namespace orrery::draw {
namespace {

Value Sample() {
  Value rows = Value::List();
  rows.Add(Value::Object().Set("rank", 0).Set("value", 0.5));
  rows.Add(Value::Object().Set("rank", 1).Set("value", Value()));
  return Value::Object().Set("steps", "none").Set("estimated", true).Set("per_rank", rows);
}

TEST(ValueOutputTest, Json) {
  JsonWriter json(JsonWriter::Layout::kCompact);
  WriteValue(json, Sample());
  EXPECT_EQ(json.Finish(),
            R"json({"steps":"none","estimated":true,"per_rank":[{"rank":0,"value":0.5},)json"
            R"json({"rank":1,"value":null}]})json");
}

TEST(ValueOutputTest, TextShowsListsOfObjectsAsTables) {
  EXPECT_EQ(ValueText(Sample(), 2, 1),
            "  steps: none\n"
            "  estimated: yes\n"
            "  per_rank\n"
            "    rank  value\n"
            "    ----  -----\n"
            "       0    0.5\n"
            "    … 1 more (--json has all)\n");
}

}  // namespace
}  // namespace orrery::draw
