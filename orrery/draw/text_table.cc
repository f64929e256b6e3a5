#include "orrery/draw/text_table.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "orrery/base/check.h"
#include "orrery/base/utf8.h"

namespace orrery::draw {
namespace {

constexpr std::string_view kEllipsis = "…";
constexpr std::string_view kGap = "  ";

std::size_t WidthOfCodePoint(char32_t value) {
  const bool combines = value >= 0x300 && value <= 0x36f;
  return combines ? 0 : 1;
}

// A line break inside a cell would tear the table.
std::string OnOneLine(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  return text;
}

std::string FormatCell(const Table::Cell& cell) {
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) {
    return fmt::format("{}", *integer);
  }
  if (const auto* number = std::get_if<double>(&cell)) {
    return fmt::format("{:.6g}", *number);
  }
  const auto* text = std::get_if<std::string>(&cell);
  return text == nullptr ? std::string() : *text;
}

void AppendPadded(std::string_view text, std::size_t width, TextTable::Align align,
                  std::string& line) {
  const std::string padding(width - std::min(width, DisplayWidth(text)), ' ');
  line += align == TextTable::Align::kRight ? padding : "";
  line += text;
  line += align == TextTable::Align::kLeft ? padding : "";
}

void EndLine(std::string& lines) {
  lines.resize(lines.find_last_not_of(' ') + 1);
  lines += '\n';
}

}  // namespace

std::size_t DisplayWidth(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const CodePoint first = FirstCodePoint(text);
    width += WidthOfCodePoint(first.value);
    text.remove_prefix(first.num_bytes);
  }
  return width;
}

std::string Truncated(std::string_view text, std::size_t width) {
  if (DisplayWidth(text) <= width) {
    return std::string(text);
  }
  if (width == 0) {
    return {};
  }
  std::size_t used = 0;
  std::size_t end = 0;
  while (true) {
    const CodePoint next = FirstCodePoint(text.substr(end));
    used += WidthOfCodePoint(next.value);
    if (used > width - 1) {
      return std::string(text.substr(0, end)) + std::string(kEllipsis);
    }
    end += next.num_bytes;
  }
}

std::string Indented(std::string_view lines, std::size_t indent) {
  std::string result;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size() - 1) + 1;
    result.append(indent, ' ').append(lines.substr(0, end));
    lines.remove_prefix(end);
  }
  return result;
}

TextTable::TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

void TextTable::AddRow(std::vector<std::string> cells) {
  ORRERY_CHECK(cells.size() <= columns_.size(), "a row has no more cells than there are columns");
  cells.resize(columns_.size());
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    cells[column] = OnOneLine(std::move(cells[column]));
    if (columns_[column].max_width > 0) {
      cells[column] = Truncated(cells[column], columns_[column].max_width);
    }
  }
  rows_.push_back(std::move(cells));
}

std::size_t TextTable::WidthOf(std::size_t column) const {
  std::size_t width = DisplayWidth(columns_[column].header);
  for (const auto& row : rows_) {
    width = std::max(width, DisplayWidth(row[column]));
  }
  return width;
}

std::string TextTable::Render() const {
  std::vector<std::size_t> widths;
  std::vector<std::string> headers;
  std::vector<std::string> rules;
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    widths.push_back(WidthOf(column));
    headers.push_back(columns_[column].header);
    rules.emplace_back(widths.back(), '-');
  }
  std::string lines;
  const auto append_line = [&](const std::vector<std::string>& cells) {
    for (std::size_t column = 0; column < columns_.size(); ++column) {
      lines += column == 0 ? "" : kGap;
      AppendPadded(cells[column], widths[column], columns_[column].align, lines);
    }
    EndLine(lines);
  };
  append_line(headers);
  append_line(rules);
  for (const auto& row : rows_) {
    append_line(row);
  }
  return lines;
}

TextTable ToTextTable(const Table& table) {
  std::vector<TextTable::Column> columns;
  for (std::size_t column = 0; column < table.num_columns(); ++column) {
    const bool is_text = table.column_type(column) == Table::Type::kText;
    columns.push_back({.header = table.column_name(column),
                       .align = is_text ? TextTable::Align::kLeft : TextTable::Align::kRight});
  }
  TextTable text_table(std::move(columns));
  for (std::size_t row = 0; row < table.num_rows(); ++row) {
    std::vector<std::string> cells;
    for (std::size_t column = 0; column < table.num_columns(); ++column) {
      cells.push_back(FormatCell(table.At(row, column)));
    }
    text_table.AddRow(std::move(cells));
  }
  return text_table;
}

}  // namespace orrery::draw
