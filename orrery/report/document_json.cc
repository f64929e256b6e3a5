#include <type_traits>

#include "orrery/draw/json_writer.h"
#include "orrery/draw/value_output.h"
#include "orrery/report/document.h"

namespace orrery::report {
namespace {

using draw::JsonWriter;

void WriteTable(JsonWriter& json, const Document::Table& table) {
  json.BeginArray();
  for (const std::vector<Value>& row : table.rows) {
    json.BeginObject();
    for (std::size_t column = 0; column < table.columns.size(); ++column) {
      if (!table.columns[column].key.empty()) {
        json.Key(table.columns[column].key);
        draw::WriteValue(json, column < row.size() ? row[column] : Value());
      }
    }
    json.EndObject();
  }
  json.EndArray();
}

void WriteList(JsonWriter& json, const Document::List& list) {
  json.BeginArray();
  for (const std::string& item : list.items) {
    json.String(item);
  }
  json.EndArray();
}

void WriteBlock(JsonWriter& json, const Document::Block& block) {
  std::visit(
      [&]<typename T>(const T& held) {
        if constexpr (requires { held.key; }) {
          if (held.key.empty()) {
            return;
          }
          json.Key(held.key);
          if constexpr (std::is_same_v<T, Document::Table>) {
            WriteTable(json, held);
          } else if constexpr (std::is_same_v<T, Document::List>) {
            WriteList(json, held);
          } else {
            draw::WriteValue(json, held.value);
          }
        }
      },
      block);
}

void WriteSection(JsonWriter& json, const Document::Section& section) {
  const bool is_object = !section.key.empty();
  if (is_object) {
    json.Key(section.key).BeginObject();
  }
  for (const Document::Block& block : section.blocks) {
    WriteBlock(json, block);
  }
  if (is_object) {
    json.EndObject();
  }
}

}  // namespace

std::string RenderJson(const Document& document) {
  JsonWriter json;
  if (!document.data.IsNull()) {
    draw::WriteValue(json, document.data);
    return json.Finish();
  }
  json.BeginObject();
  for (const Document::Section& section : document.sections) {
    WriteSection(json, section);
  }
  json.EndObject();
  return json.Finish();
}

}  // namespace orrery::report
