#include "orrery/base/text/table.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "orrery/base/check.h"
#include "orrery/base/text/parse_number.h"

namespace orrery {
namespace {

// The alternatives of a cell are in the order of the types, after "missing".
bool Fits(const Table::Cell& cell, Table::Type type) {
  return cell.index() == static_cast<std::size_t>(type) + 1;
}

}  // namespace

Table::Table(std::initializer_list<std::pair<std::string_view, Type>> columns) {
  for (const auto& [name, type] : columns) {
    AddColumn(std::string(name), type);
  }
}

std::size_t Table::AddColumn(std::string name, Type type) {
  columns_.push_back({.name = std::move(name), .type = type, .cells = {}});
  columns_.back().cells.resize(num_rows_);
  return columns_.size() - 1;
}

std::size_t Table::AddRow() {
  for (Column& column : columns_) {
    column.cells.emplace_back();
  }
  return num_rows_++;
}

void Table::AddRow(std::vector<Cell> cells) {
  ORRERY_CHECK(cells.size() == num_columns(), "a row has a cell for each column");
  const std::size_t row = AddRow();
  for (std::size_t column = 0; column < cells.size(); ++column) {
    Set(row, column, std::move(cells[column]));
  }
}

void Table::Set(std::size_t row, std::size_t column, Cell cell) {
  ORRERY_CHECK(std::holds_alternative<std::monostate>(cell) || Fits(cell, columns_[column].type),
               "a cell has the type of its column");
  columns_[column].cells[row] = std::move(cell);
}

std::optional<std::size_t> Table::FindColumn(std::string_view name) const {
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    if (columns_[column].name == name) {
      return column;
    }
  }
  return std::nullopt;
}

const Table::Cell& Table::CellOf(std::size_t row, std::string_view column) const {
  static const Cell kMissing;
  const auto index = FindColumn(column);
  return index ? At(row, *index) : kMissing;
}

std::optional<double> Table::Number(std::size_t row, std::string_view column) const {
  const Cell& cell = CellOf(row, column);
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) {
    return static_cast<double>(*integer);
  }
  const auto* number = std::get_if<double>(&cell);
  return number == nullptr ? std::nullopt : std::optional(*number);
}

std::optional<double> Table::NumberInText(std::size_t row, std::string_view column) const {
  const std::optional<double> number = Number(row, column);
  return number ? number : ParseWhole<double>(Text(row, column).value_or(""));
}

std::optional<std::int64_t> Table::Integer(std::size_t row, std::string_view column) const {
  const auto* integer = std::get_if<std::int64_t>(&CellOf(row, column));
  return integer == nullptr ? std::nullopt : std::optional(*integer);
}

std::optional<std::string_view> Table::Text(std::size_t row, std::string_view column) const {
  const auto* text = std::get_if<std::string>(&CellOf(row, column));
  return text == nullptr ? std::nullopt : std::optional<std::string_view>(*text);
}

}  // namespace orrery
