#include "orrery/api/schemas.h"

#include <set>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "orrery/base/value.h"

namespace orrery::api {
namespace {

// Each property has a description, so that tools that read the schema can show it.
void ExpectDescribed(std::string_view verb, const Value& schema) {
  const Value* const properties = schema.Find("properties");
  ASSERT_NE(properties, nullptr) << verb;
  EXPECT_FALSE(properties->fields().empty()) << verb;
  for (const auto& [name, property] : properties->fields()) {
    EXPECT_NE(property.Find("description"), nullptr) << verb << " " << name;
  }
}

TEST(SchemasTest, EveryVerbDescribesItsRequestAndItsResult) {
  std::set<std::string_view> verbs;
  for (const VerbSchema& schema : VerbSchemas()) {
    EXPECT_TRUE(verbs.insert(schema.verb).second) << schema.verb;
    ExpectDescribed(schema.verb, schema.request());
    ExpectDescribed(schema.verb, schema.result());
  }
}

TEST(SchemasTest, AnUnknownVerbIsNamed) {
  EXPECT_TRUE(SchemaOfVerb("simulate"));
  const Result<Value> none = SchemaOfVerb("dance");
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message().find("'dance' has none"), std::string::npos);
}

}  // namespace
}  // namespace orrery::api
