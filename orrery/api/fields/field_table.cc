#include "orrery/api/fields/field_table.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "orrery/api/any_verb.h"
#include "orrery/api/fields/documents.h"
#include "orrery/base/document/value.h"

namespace orrery::api {
namespace {

std::string TextOf(const Value* value) {
  const auto* const text = value == nullptr ? nullptr : std::get_if<std::string>(&value->variant());
  return text == nullptr ? std::string() : *text;
}

// "number", or "number or null".
std::string TypeText(const Value& schema) {
  const Value* const type = schema.Find("type");
  if (type == nullptr) {
    return "any";
  }
  if (!type->IsList()) {
    return TextOf(type);
  }
  std::vector<std::string> names;
  for (const Value& name : type->items()) {
    names.push_back(TextOf(&name));
  }
  return fmt::format("{}", fmt::join(names, " or "));
}

std::string MeaningText(const Value& schema) {
  std::string text = TextOf(schema.Find("description"));
  if (const Value* const choices = schema.Find("enum")) {
    std::vector<std::string> words;
    for (const Value& choice : choices->items()) {
      words.push_back(TextOf(&choice));
    }
    text += fmt::format(": {}", fmt::join(words, ", "));
  }
  return text;
}

/// Adds the fields of an object, and those of objects in it.
void AddFields(const Value& schema, const std::string& parent, Document::Table& table) {
  const Value* const properties = schema.Find("properties");
  if (properties == nullptr) {
    return;
  }
  for (const auto& [name, property] : properties->fields()) {
    std::string key = parent + name;
    const Value* inner = &property;
    std::string type = TypeText(property);
    if (const Value* const items = property.Find("items")) {
      key += "[]";
      inner = items;
      type = TypeText(*items);
    } else if (const Value* const keyed = property.Find("additionalProperties");
               keyed != nullptr && keyed->IsObject()) {
      key += ".NAME";
      inner = keyed;
      type = TypeText(*keyed);
    }
    table.rows.push_back({key, std::move(type), MeaningText(property)});
    AddFields(*inner, key + ".", table);
  }
}

Document::Table TableOf(std::string heading, const Value& schema) {
  Document::Table table{
      .heading = std::move(heading),
      .columns = {AsText("", "key", 0), AsText("", "type", 0), AsText("", "meaning", 0)},
      .max_shown = SIZE_MAX};
  AddFields(schema, "", table);
  return table;
}

}  // namespace

report::Document FieldTables(const AnyVerb& verb) {
  Document document;
  document.AddSection().Add(
      TableOf(fmt::format("Request of {}", verb.name), verb.request_schema()));
  document.AddSection().Add(TableOf("Answer", verb.result_schema()));
  return document;
}

}  // namespace orrery::api
