#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/table.h"

namespace orrery::draw {

/// Returns how many columns of a terminal `text` takes: one a character (combining marks none).
[[nodiscard]] std::size_t DisplayWidth(std::string_view text);

/// Returns `text`, or its beginning and "…" if it is wider than `width` columns.
[[nodiscard]] std::string Truncated(std::string_view text, std::size_t width);

/// Returns the lines with `indent` blanks in front of each.
[[nodiscard]] std::string Indented(std::string_view lines, std::size_t indent);

/// A table for people: columns padded with spaces, a rule under the header, no blanks at line ends.
class TextTable {
 public:
  enum class Align { kLeft, kRight };

  struct Column {
    std::string header;
    Align align = Align::kLeft;
    std::size_t max_width = 0;  // longer cells end in "…"; 0: no limit
  };

  explicit TextTable(std::vector<Column> columns);

  /// Cells in the order of the columns; missing ones at the end stay empty.
  void AddRow(std::vector<std::string> cells);

  /// Returns the lines, each with its line end.
  [[nodiscard]] std::string Render() const;

 private:
  [[nodiscard]] std::size_t WidthOf(std::size_t column) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// Shows a table of measurements: numbers to the right with six digits, missing cells empty.
[[nodiscard]] TextTable ToTextTable(const Table& table);

}  // namespace orrery::draw
