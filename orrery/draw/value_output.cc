#include "orrery/draw/value_output.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/core.h>

#include "orrery/draw/text_table.h"

namespace orrery::draw {
namespace {

constexpr std::size_t kMaxCellWidth = 60;

std::string Pad(std::size_t indent) {
  return std::string(indent, ' ');
}

bool IsScalar(const Value& value) {
  return !value.IsObject() && !value.IsList();
}

bool IsTable(const Value& value) {
  return value.IsList() && !value.items().empty() &&
         std::ranges::all_of(value.items(), &Value::IsObject);
}

bool IsNumber(const Value& value) {
  return std::holds_alternative<std::int64_t>(value.variant()) ||
         std::holds_alternative<double>(value.variant());
}

std::string CellText(const Value& value) {
  if (IsScalar(value)) {
    return ScalarText(value);
  }
  JsonWriter json(JsonWriter::Layout::kCompact);
  WriteValue(json, value);
  return json.Finish();
}

std::vector<TextTable::Column> ColumnsOf(const Value& table) {
  std::vector<TextTable::Column> columns;
  for (const auto& [name, first] : table.items().front().fields()) {
    const bool is_number = std::ranges::all_of(table.items(), [&](const Value& row) {
      const Value* const cell = row.Find(name);
      return cell == nullptr || cell->IsNull() || IsNumber(*cell);
    });
    columns.push_back(
        {name, is_number ? TextTable::Align::kRight : TextTable::Align::kLeft, kMaxCellWidth});
  }
  return columns;
}

std::string TableText(const Value& list, std::size_t indent, std::size_t max_rows) {
  TextTable table(ColumnsOf(list));
  const std::size_t shown = std::min(max_rows, list.items().size());
  for (std::size_t row = 0; row < shown; ++row) {
    std::vector<std::string> cells;
    for (const auto& [name, unused] : list.items().front().fields()) {
      const Value* const cell = list.items()[row].Find(name);
      cells.push_back(cell == nullptr ? "" : CellText(*cell));
    }
    table.AddRow(std::move(cells));
  }
  std::string text = Indented(table.Render(), indent);
  if (shown < list.items().size()) {
    text += fmt::format("{}… {} more (--json has all)\n", Pad(indent), list.items().size() - shown);
  }
  return text;
}

std::string FieldText(const std::string& name, const Value& value, std::size_t indent,
                      std::size_t max_rows) {
  if (IsTable(value)) {
    return fmt::format("{}{}\n{}", Pad(indent), name, TableText(value, indent + 2, max_rows));
  }
  if (value.IsObject() && !value.fields().empty()) {
    return fmt::format("{}{}\n{}", Pad(indent), name, ValueText(value, indent + 2, max_rows));
  }
  return fmt::format("{}{}: {}\n", Pad(indent), name, CellText(value));
}

}  // namespace

void WriteValue(JsonWriter& json, const Value& value) {
  std::visit(
      [&]<typename T>(const T& held) {
        if constexpr (std::is_same_v<T, std::monostate>) {
          json.Null();
        } else if constexpr (std::is_same_v<T, bool>) {
          json.Bool(held);
        } else if constexpr (std::is_same_v<T, std::int64_t>) {
          json.Integer(held);
        } else if constexpr (std::is_same_v<T, double>) {
          json.Number(held);
        } else if constexpr (std::is_same_v<T, std::string>) {
          json.String(held);
        } else if constexpr (std::is_same_v<T, Value::Items>) {
          json.BeginArray();
          for (const Value& item : held) {
            WriteValue(json, item);
          }
          json.EndArray();
        } else {
          json.BeginObject();
          for (const auto& [name, field] : held) {
            json.Key(name);
            WriteValue(json, field);
          }
          json.EndObject();
        }
      },
      value.variant());
}

std::string ScalarText(const Value& value) {
  if (const auto* const number = std::get_if<double>(&value.variant())) {
    return fmt::format("{:.6g}", *number);
  }
  if (const auto* const integer = std::get_if<std::int64_t>(&value.variant())) {
    return fmt::format("{}", *integer);
  }
  if (const auto* const text = std::get_if<std::string>(&value.variant())) {
    return *text;
  }
  if (const auto* const yes = std::get_if<bool>(&value.variant())) {
    return *yes ? "yes" : "no";
  }
  return "–";
}

std::string ValueText(const Value& value, std::size_t indent, std::size_t max_rows) {
  if (IsTable(value)) {
    return TableText(value, indent, max_rows);
  }
  if (!value.IsObject()) {
    return fmt::format("{}{}\n", Pad(indent), CellText(value));
  }
  std::string text;
  for (const auto& [name, field] : value.fields()) {
    text += FieldText(name, field, indent, max_rows);
  }
  return text;
}

}  // namespace orrery::draw
