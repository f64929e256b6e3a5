#include <algorithm>

#include <fmt/core.h>

#include "orrery/base/csv.h"
#include "orrery/report/document.h"

namespace orrery::report {
namespace {

using Type = orrery::Table::Type;

bool HasNumbers(const Document::Table& table, std::size_t column) {
  return std::ranges::any_of(table.rows, [&](const std::vector<Value>& row) {
    return column < row.size() && std::holds_alternative<double>(row[column].variant());
  });
}

Type TypeOf(const Document::Table& table, std::size_t column) {
  return table.columns[column].format.unit == Unit::kText ? Type::kText
         : HasNumbers(table, column)                      ? Type::kNumber
                                                          : Type::kInteger;
}

// A column of integers in which one cell is a number is one of numbers.
orrery::Table::Cell CellOf(const Value& value, Type type) {
  if (const auto* const integer = std::get_if<std::int64_t>(&value.variant())) {
    return type == Type::kText     ? orrery::Table::Cell(std::to_string(*integer))
           : type == Type::kNumber ? orrery::Table::Cell(static_cast<double>(*integer))
                                   : orrery::Table::Cell(*integer);
  }
  if (const auto* const number = std::get_if<double>(&value.variant())) {
    return *number;
  }
  const auto* const text = std::get_if<std::string>(&value.variant());
  return text == nullptr ? orrery::Table::Cell() : orrery::Table::Cell(*text);
}

orrery::Table SheetOf(const Document::Table& table) {
  orrery::Table sheet;
  std::vector<std::size_t> source_of_column;
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    if (!table.columns[column].key.empty()) {
      sheet.AddColumn(table.columns[column].key, TypeOf(table, column));
      source_of_column.push_back(column);
    }
  }
  for (const std::vector<Value>& cells : table.rows) {
    const std::size_t row = sheet.AddRow();
    for (std::size_t column = 0; column < source_of_column.size(); ++column) {
      if (source_of_column[column] < cells.size()) {
        sheet.Set(row, column, CellOf(cells[source_of_column[column]], sheet.column_type(column)));
      }
    }
  }
  return sheet;
}

}  // namespace

Result<std::string> RenderCsv(const Document& document, std::string_view name) {
  std::string known;
  const auto is_wanted = [&](const std::string& key) {
    known += (known.empty() ? "" : ", ") + key;
    return name.empty() || key == name;
  };
  for (const auto& [key, sheet] : document.sheets) {
    if (is_wanted(key)) {
      return FormatCsv(sheet);
    }
  }
  for (const Document::Section& section : document.sections) {
    for (const Document::Block& block : section.blocks) {
      const auto* const table = std::get_if<Document::Table>(&block);
      if (table != nullptr && !table->key.empty() && is_wanted(table->key)) {
        return FormatCsv(SheetOf(*table));
      }
    }
  }
  return Fail(Error::Kind::kNotFound,
              fmt::format("--table {}: there {}", name,
                          known.empty() ? "is no table" : fmt::format("are the tables {}", known)));
}

}  // namespace orrery::report
