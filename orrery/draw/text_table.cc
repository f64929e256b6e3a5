#include "orrery/draw/text_table.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "orrery/base/check.h"
#include "orrery/base/document/json_text.h"
#include "orrery/base/text/visible_text.h"
#include "orrery/draw/format.h"

namespace orrery::draw {
namespace {

constexpr std::string_view kGap = "  ";
// Words of a cell that are longer may be broken; names in the first column are there to be copied.
constexpr std::size_t kLeastWord = 20;
constexpr std::size_t kLeastName = 48;

using Lines = TextTable::Lines;

// The number of bytes of text that take at most `width` columns, and at least one character.
std::size_t BytesIn(std::string_view text, std::size_t width) {
  std::size_t end = 0;
  while (end < text.size()) {
    const std::size_t next = end + FirstCodePoint(text.substr(end)).num_bytes;
    if (end > 0 && DisplayWidth(text.substr(0, next)) > width) {
      break;
    }
    end = next;
  }
  return end;
}

// The length of the first word: up to a blank, but a number keeps its unit ("3 %", "1.50 µs").
std::size_t WordLength(std::string_view text) {
  constexpr std::array<std::string_view, 14> kUnits = {
      "%", "ns", "µs", "ms", "s", "h", "B", "kB", "MB", "GB", "KiB", "MiB", "GiB", "TFLOP/s"};
  // Blanks in front indent it.
  const std::size_t end = text.find(' ', std::min(text.find_first_not_of(' '), text.size()));
  if (end == std::string_view::npos || text[end - 1] < '0' || text[end - 1] > '9') {
    return std::min(end, text.size());
  }
  const std::string_view next = text.substr(end + 1, text.find(' ', end + 1) - end - 1);
  const std::string_view unit = next.substr(0, next.find_last_not_of(".,;:)") + 1);
  return std::ranges::find(kUnits, unit) == kUnits.end() ? end : end + 1 + next.size();
}

struct Room {
  std::size_t first = 0;  // columns of the first line
  std::size_t others = 0;
  bool breaks_words = false;  // those that are too wide
};

// Breaks one line at blanks.
Lines BrokenLine(std::string_view text, const Room& room) {
  if (DisplayWidth(text) <= room.first) {
    return {std::string(text)};
  }
  Lines lines;
  std::string line;
  for (bool is_empty = true; !text.empty();) {
    const std::size_t width = lines.empty() ? room.first : room.others;
    std::string_view word = text.substr(0, WordLength(text));
    if (!is_empty && DisplayWidth(line) + 1 + DisplayWidth(word) > width) {
      lines.push_back(std::exchange(line, {}));
      is_empty = true;
    }
    if (room.breaks_words && is_empty) {
      word = word.substr(0, BytesIn(word, room.others));
    }
    line.append(is_empty ? "" : " ").append(word);
    is_empty = false;
    text.remove_prefix(word.size());
    if (!text.empty() && text.front() == ' ') {
      text.remove_prefix(1);
    } else if (!text.empty()) {
      lines.push_back(std::exchange(line, {}));
      is_empty = true;
    }
  }
  lines.push_back(std::move(line));
  return lines;
}

// A line break inside a cell would tear the table.
std::string OnOneLine(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  return text;
}

std::size_t WidestWordOf(std::string_view text) {
  std::size_t widest = 0;
  while (!text.empty()) {
    const std::size_t end = WordLength(text);
    widest = std::max(widest, DisplayWidth(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return widest;
}

std::size_t Height(const std::vector<Lines>& row) {
  std::size_t height = 0;
  for (const Lines& cell : row) {
    height = std::max(height, cell.size());
  }
  return height;
}

// Takes columns away where there are more than `least`, from the widest first, until all fit.
void Shrink(const std::vector<std::size_t>& least, std::size_t room,
            std::vector<std::size_t>& widths) {
  for (std::size_t total = std::reduce(widths.begin(), widths.end()); total > room; --total) {
    std::size_t widest = widths.size();
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (widths[i] > least[i] && (widest == widths.size() || widths[i] > widths[widest])) {
        widest = i;
      }
    }
    if (widest == widths.size()) {
      return;
    }
    --widths[widest];
  }
}

// The columns that name a row: those of text on the left, as far as they leave half of the page.
std::vector<std::size_t> NamingColumns(const std::vector<TextTable::Column>& columns,
                                       const std::vector<std::size_t>& widths,
                                       std::size_t page_width) {
  std::vector<std::size_t> naming = {0};
  std::size_t used = widths[0];
  for (std::size_t i = 1; i < columns.size() && columns[i].align == TextTable::Align::kLeft; ++i) {
    used += kGap.size() + widths[i];
    if (used > page_width / 2) {
      break;
    }
    naming.push_back(i);
  }
  return naming;
}

// The columns that stand next to each other, where they cannot become narrower than `widths`: all,
// or as many as fit; then each part begins with those that name the row.
std::vector<std::vector<std::size_t>> PartsOf(const std::vector<TextTable::Column>& columns,
                                              const std::vector<std::size_t>& widths,
                                              std::size_t page_width) {
  std::vector<std::vector<std::size_t>> parts = {{}};
  std::size_t used = 0;
  for (std::size_t column = 0; column < widths.size(); ++column) {
    const std::size_t width = widths[column] + (column == 0 ? 0 : kGap.size());
    if (used + width > page_width) {
      std::vector<std::size_t> naming = NamingColumns(columns, widths, page_width);
      if (parts.back().size() > naming.size()) {
        used = kGap.size() * (naming.size() - 1);
        for (const std::size_t name : naming) {
          used += widths[name];
        }
        parts.push_back(std::move(naming));
      }
    }
    parts.back().push_back(column);
    used += width;
  }
  return parts;
}

TextTable OfColumns(const std::vector<TextTable::Column>& columns, const std::vector<Lines>& rows,
                    const std::vector<std::size_t>& chosen) {
  const auto picked = [&](const auto& all) {
    std::decay_t<decltype(all)> some;
    for (const std::size_t column : chosen) {
      some.push_back(all[column]);
    }
    return some;
  };
  TextTable table(picked(columns));
  for (const Lines& row : rows) {
    table.AddRow(picked(row));
  }
  return table;
}

void EndLine(std::string& lines) {
  lines.resize(lines.find_last_not_of(' ') + 1);
  lines += '\n';
}

}  // namespace

std::string Wrapped(std::string_view text, const WrapOptions& options) {
  std::string result;
  for (bool is_last = false; !is_last;) {
    const std::size_t end = text.find('\n');
    is_last = end == std::string_view::npos;
    std::string_view line = text.substr(0, end);
    text.remove_prefix(is_last ? text.size() : end + 1);
    const std::size_t blanks = std::min(line.find_first_not_of(' '), line.size());
    line.remove_prefix(blanks);
    std::size_t indent = options.first_indent + blanks;
    const auto room = [&](std::size_t taken) {
      return options.width > taken ? options.width - taken : 1;
    };
    for (const std::string& part :
         BrokenLine(line, {.first = room(indent), .others = room(options.indent + blanks)})) {
      result.append(indent, ' ').append(part);
      EndLine(result);
      indent = options.indent + blanks;
    }
  }
  return result;
}

TextTable::TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

void TextTable::AddRow(std::vector<std::string> cells) {
  ORRERY_CHECK(cells.size() <= columns_.size(), "a row has no more cells than there are columns");
  cells.resize(columns_.size());
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    cells[column] = VisibleText(OnOneLine(std::move(cells[column])));
    if (columns_[column].max_width > 0) {
      cells[column] = Truncated(cells[column], columns_[column].max_width);
    }
  }
  rows_.push_back(std::move(cells));
}

std::size_t TextTable::WidestCell(std::size_t column) const {
  std::size_t width = 0;
  for (const auto& row : rows_) {
    width = std::max(width, DisplayWidth(row[column]));
  }
  return width;
}

std::size_t TextTable::WidestWord(std::size_t column) const {
  std::size_t width = 0;
  for (const auto& row : rows_) {
    width = std::max(width, WidestWordOf(row[column]));
  }
  return width;
}

// Headers become narrower first, then text; numbers are never broken.
std::vector<std::size_t> TextTable::Widths(std::size_t page_width) const {
  std::vector<std::size_t> widths;
  std::vector<std::size_t> without_header;
  std::vector<std::size_t> least;
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    const std::string& header = columns_[column].header;
    const std::size_t cell = WidestCell(column);
    const std::size_t word = WidestWordOf(header);
    widths.push_back(std::max(DisplayWidth(header), cell));
    without_header.push_back(std::max(word, cell));
    least.push_back(
        columns_[column].align == Align::kRight
            ? without_header.back()
            : std::max(word, std::min(WidestWord(column), column == 0 ? kLeastName : kLeastWord)));
  }
  const std::size_t gaps = kGap.size() * (columns_.empty() ? 0 : columns_.size() - 1);
  const std::size_t room = page_width > gaps ? page_width - gaps : 1;
  Shrink(without_header, room, widths);
  Shrink(least, room, widths);
  return widths;
}

void TextTable::AppendRow(const std::vector<Lines>& row, const std::vector<std::size_t>& widths,
                          const Paint& paint, std::string& text) const {
  for (std::size_t line = 0; line < Height(row); ++line) {
    for (std::size_t column = 0; column < row.size(); ++column) {
      const std::string cell = line < row[column].size() ? row[column][line] : "";
      const std::string padding(widths[column] - DisplayWidth(cell), ' ');
      const bool is_right = columns_[column].align == Align::kRight;
      text.append(column == 0 ? "" : kGap).append(is_right ? padding : "");
      text += paint && !cell.empty() ? paint(cell) : cell;
      text += is_right ? "" : padding;
    }
    EndLine(text);
  }
}

std::string TextTable::Render(std::size_t page_width, const Paint& paint) const {
  const std::vector<std::size_t> limits = Widths(page_width);
  const std::vector<std::vector<std::size_t>> parts = PartsOf(columns_, limits, page_width);
  std::string text;
  for (std::size_t i = 0; parts.size() > 1 && i < parts.size(); ++i) {
    text += (i == 0 ? "" : "\n") + OfColumns(columns_, rows_, parts[i]).Render(page_width, paint);
  }
  if (parts.size() > 1) {
    return text;
  }
  std::vector<std::string> headers;
  for (const Column& column : columns_) {
    headers.push_back(column.header);
  }
  std::vector<std::size_t> widths(columns_.size(), 0);  // within the limits
  const auto broken = [&](const std::vector<std::string>& cells) {
    std::vector<Lines> lines;
    for (std::size_t column = 0; column < columns_.size(); ++column) {
      const std::size_t limit = std::max<std::size_t>(limits[column], 1);
      lines.push_back(
          BrokenLine(cells[column], {.first = limit, .others = limit, .breaks_words = true}));
      for (const std::string& line : lines.back()) {
        widths[column] = std::max(widths[column], DisplayWidth(line));
      }
    }
    return lines;
  };
  std::vector<std::vector<Lines>> rows = {broken(headers), {}};
  const std::size_t tallest = Height(rows.front());
  for (Lines& header : rows.front()) {  // align short headers at the bottom
    header.insert(header.begin(), tallest - header.size(), "");
  }
  for (const auto& row : rows_) {
    rows.push_back(broken(row));
  }
  for (const std::size_t width : widths) {
    rows[1].push_back({std::string(width, '-')});
  }
  for (const std::vector<Lines>& row : rows) {
    AppendRow(row, widths, paint, text);
  }
  return text;
}

}  // namespace orrery::draw
