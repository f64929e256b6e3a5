#include "orrery/workload/keys/job_schema.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "orrery/base/document/value.h"
#include "orrery/base/text/parse_number.h"
#include "orrery/workload/keys/job_keys.h"

namespace orrery::workload {
namespace {

Value OfType(std::string_view type) {
  return Value::Object().Set("type", type);
}

Value Described(Value schema, std::string_view meaning) {
  return std::move(schema.Set("description", meaning));
}

Value AnyOf(Value one, Value other) {
  return Value::Object().Set("anyOf", Value::List().Add(std::move(one)).Add(std::move(other)));
}

Value NumberSchema(const JobKey& key) {
  Value schema = OfType(key.type == "whole" ? "integer" : "number");
  for (const auto& [name, limit] : {std::pair("minimum", key.least), {"maximum", key.most}}) {
    if (std::isfinite(limit)) {
      schema.Set(name, limit);
    }
  }
  return schema;
}

Value TypeSchema(const JobKey& key) {
  const Value words = Value::Object().Set("enum", Value::ListOf(key.words));
  if (key.type == "flag") {
    return OfType("boolean");
  }
  if (key.type == "list") {
    return OfType("array").Set("items", key.words.empty() ? OfType("integer") : words);
  }
  if (key.type == "text") {
    return AnyOf(OfType("string"), OfType("number"));
  }
  return key.type == "word" ? words : NumberSchema(key);
}

// Defaults that follow from other keys are words for people.
Value UsualOf(const JobKey& key) {
  const std::string usual = key.usual();
  if (usual == "true" || usual == "false") {
    return usual == "true";
  }
  if (key.type == "word" && std::ranges::find(key.words, usual) != key.words.end()) {
    return usual;
  }
  return key.type == "whole" ? Value(ParseWhole<std::int64_t>(usual))
                             : Value(ParseWhole<double>(usual));
}

Value SectionSchema(std::string_view section) {
  Value properties = Value::Object();
  for (const JobKey& key : JobKeys()) {
    if (key.section == section) {
      Value schema = Described(TypeSchema(key), key.meaning);
      if (Value usual = UsualOf(key); !usual.IsNull()) {
        schema.Set("default", std::move(usual));
      }
      properties.Set(key.name, std::move(schema));
    }
  }
  return OfType("object").Set("properties", std::move(properties));
}

Value Closed(Value section) {
  return std::move(section.Set("additionalProperties", false));
}

}  // namespace

Value JobSchema() {
  const Value named = AnyOf(OfType("string"), OfType("object"));
  Value properties = Value::Object();
  properties.Set("name", Described(OfType("string"), "the name in reports"))
      .Set("model",
           Described(AnyOf(OfType("string"), SectionSchema("model")),
                     "a preset, or a mapping with preset, hugging_face, family, layers or dlrm"))
      .Set("training", Closed(SectionSchema("training")))
      .Set("plan", Closed(SectionSchema("plan")))
      .Set("megatron", Described(OfType("string"), "arguments of Megatron-LM, or a file of them"))
      .Set("cluster", Described(named, "a cluster of the catalogue, or a mapping with name"))
      .Set("gpu", Described(named, "another GPU of the catalogue, or a mapping with name"))
      .Set("gpus", Described(OfType("integer"), "the number of GPUs").Set("minimum", 0))
      .Set("gpu_of", Described(OfType("object"), "ranks with another GPU: {8-15: A100-80GB}"))
      .Set("framework", Described(AnyOf(OfType("string"), SectionSchema("framework")),
                                  "a profile of the catalogue, or a mapping with name"))
      .Set("search", Described(OfType("object"), "free keys and their values"));
  return Closed(Value::Object()
                    .Set("$schema", "https://json-schema.org/draft/2020-12/schema")
                    .Set("title", "A job of Orrery")
                    .Set("type", "object")
                    .Set("properties", std::move(properties)));
}

}  // namespace orrery::workload
