#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "orrery/base/error.h"

namespace orrery {

/// A small table of named columns, for measurements and results: nccl-tests logs, CSV files,
/// counter tables. A column holds integers, numbers or text; a missing value is not zero.
class Table {
 public:
  enum class Type { kInteger, kNumber, kText };

  using Cell = std::variant<std::monostate, std::int64_t, double, std::string>;

  /// Returns the value as a cell, a missing one for nothing.
  template <typename T>
  [[nodiscard]] static Cell CellOf(const std::optional<T>& value) {
    return value ? Cell(*value) : Cell();
  }

  Table() = default;

  /// An empty table with these columns.
  Table(std::initializer_list<std::pair<std::string_view, Type>> columns);

  /// Adds a column; all rows so far get a missing value. Returns its index.
  std::size_t AddColumn(std::string name, Type type);

  /// Adds a row with a missing value in each column; returns its index.
  std::size_t AddRow();

  /// Adds a row with these values, one for each column.
  void AddRow(std::vector<Cell> cells);

  /// The cell must be missing or of the column's type.
  void Set(std::size_t row, std::size_t column, Cell cell);

  [[nodiscard]] std::size_t num_rows() const { return num_rows_; }

  [[nodiscard]] std::size_t num_columns() const { return columns_.size(); }

  [[nodiscard]] const std::string& column_name(std::size_t column) const {
    return columns_[column].name;
  }

  [[nodiscard]] Type column_type(std::size_t column) const { return columns_[column].type; }

  [[nodiscard]] std::optional<std::size_t> FindColumn(std::string_view name) const;

  [[nodiscard]] const Cell& At(std::size_t row, std::size_t column) const {
    return columns_[column].cells[row];
  }

  /// Missing, not a number, or no such column: nothing.
  [[nodiscard]] std::optional<double> Number(std::size_t row, std::string_view column) const;
  /// The same, and parses text: one bad cell makes the whole column text.
  [[nodiscard]] std::optional<double> NumberInText(std::size_t row, std::string_view column) const;
  [[nodiscard]] std::optional<std::int64_t> Integer(std::size_t row, std::string_view column) const;
  [[nodiscard]] std::optional<std::string_view> Text(std::size_t row,
                                                     std::string_view column) const;

  bool operator==(const Table&) const = default;

 private:
  struct Column {
    std::string name;
    Type type = Type::kText;
    std::vector<Cell> cells;

    bool operator==(const Column&) const = default;
  };

  // The cell of a column by name; missing when there is no such column.
  [[nodiscard]] const Cell& CellOf(std::size_t row, std::string_view column) const;

  std::vector<Column> columns_;
  std::size_t num_rows_ = 0;
};

}  // namespace orrery
