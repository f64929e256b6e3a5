#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/api/fields.h"
#include "orrery/api/goodput.h"
#include "orrery/api/simulate.h"
#include "orrery/base/value.h"

namespace orrery::api {
namespace {

// Documents on the JSON of a verb say of every field what it is, those of nested objects included.

void AddPropertyNames(const Value& schema, std::vector<std::string>& names) {
  if (schema.IsList()) {
    for (const Value& item : schema.items()) {
      AddPropertyNames(item, names);
    }
  }
  if (!schema.IsObject()) {
    return;
  }
  for (const auto& [key, value] : schema.fields()) {
    if (key == "properties") {
      for (const auto& [name, property] : value.fields()) {
        names.push_back(name);
      }
    }
    AddPropertyNames(value, names);
  }
}

std::string ReadDocument(std::string_view name) {
  std::ifstream file(std::string(ORRERY_TEST_DATA "/../../docs/formats/").append(name));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void ExpectMentioned(const Value& schema, std::string_view document) {
  const std::string text = ReadDocument(document);
  ASSERT_FALSE(text.empty()) << document;
  std::vector<std::string> names;
  AddPropertyNames(schema, names);
  ASSERT_FALSE(names.empty());
  for (const std::string& name : names) {
    const bool is_mentioned = text.find("`" + name + "`") != std::string::npos ||
                              text.find("`" + name + "[]`") != std::string::npos;
    EXPECT_TRUE(is_mentioned) << document << " does not say what " << name << " is";
  }
}

TEST(FieldDocsTest, GoodputIsDescribed) {
  ExpectMentioned(ObjectSchema<GoodputResult>(), "goodput-json.md");
}

TEST(FieldDocsTest, SimulateIsDescribed) {
  ExpectMentioned(ObjectSchema<SimulateResult>(), "simulate-json.md");
  ExpectMentioned(ObjectSchema<SimulateTogetherResult>(), "simulate-json.md");
}

}  // namespace
}  // namespace orrery::api
