#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/document/csv.h"
#include "orrery/base/document/value.h"
#include "orrery/base/error.h"
#include "orrery/base/text/table.h"
#include "orrery/draw/chart/canvas.h"
#include "orrery/draw/format.h"
#include "orrery/report/document.h"
#include "orrery/report/page.h"

namespace orrery::report {
namespace {

using Type = orrery::Table::Type;

void AppendTable(const Document::Table& table, int depth, std::string& out) {
  draw::JsonItems rows('[', depth, out);
  for (const std::vector<Value>& row : table.rows) {
    rows.Next();
    draw::JsonItems fields('{', rows.depth(), out);
    for (std::size_t column = 0; column < table.columns.size(); ++column) {
      if (!table.columns[column].key.empty()) {
        fields.Key(table.columns[column].key);
        draw::AppendJson(column < row.size() ? row[column] : Value(), fields.depth(), out);
      }
    }
  }
}

void AppendBlock(const Document::Block& block, draw::JsonItems& fields, std::string& out) {
  std::visit(
      [&]<typename T>(const T& held) {
        if constexpr (requires { held.key; }) {
          if (held.key.empty()) {
            return;
          }
          fields.Key(held.key);
          if constexpr (std::is_same_v<T, Document::Table>) {
            AppendTable(held, fields.depth(), out);
          } else if constexpr (std::is_same_v<T, Document::List>) {
            draw::AppendJson(Value::ListOf(held.items), fields.depth(), out);
          } else {
            draw::AppendJson(held.value, fields.depth(), out);
          }
        }
      },
      block);
}

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

constexpr double kMargin = 24;
constexpr double kWidth = 1080 + 2 * kMargin;

/// A picture inside another: its content without its own frame, and its height.
struct Part {
  std::string content;
  double height = 0;
};

double NumberAt(std::string_view text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

Part PartOf(std::string_view svg) {
  constexpr std::string_view kViewBox = "viewBox=\"0 0 ";
  constexpr std::string_view kEnd = "</svg>";
  const std::string_view size = svg.substr(svg.find(kViewBox) + kViewBox.size());
  const std::size_t begin = svg.find('>') + 1;
  return {std::string(svg.substr(begin, svg.rfind(kEnd) - begin)),
          NumberAt(size.substr(size.find(' ') + 1))};
}

Part HeadOf(const Document::Picture& picture) {
  constexpr double kLeast = 150;
  constexpr double kLetter = 7;
  constexpr double kLine = 24;
  draw::SvgWriter svg(kWidth, kWidth, "");
  svg.Text({0, 18}, picture.heading, {.style = "heading"});
  svg.Text({0, 40}, picture.caption);
  double x = 7;
  double y = picture.legend.empty() ? 44 : 68;
  for (std::size_t i = 0; i < picture.legend.size(); ++i) {
    const draw::Series& series = picture.legend[i];
    const double width = std::max(kLeast, 30 + kLetter * static_cast<double>(series.name.size()));
    if (x + width > kWidth - 2 * kMargin) {
      x = 7;
      y += kLine;
    }
    svg.Path(draw::MarkerPath(i, {.x = x, .y = y}, 6), {.style = series.style});
    svg.Text({x + 13, y + 4}, series.name, {.style = "label"});
    x += width;
  }
  return {PartOf(svg.Finish()).content, y + kLine};
}

}  // namespace

std::string RenderJson(const Document& document) {
  if (!document.data.IsNull()) {
    return draw::JsonText(document.data);
  }
  std::string out;
  {
    draw::JsonItems fields('{', 0, out);
    std::optional<draw::JsonItems> object;
    std::string_view open_key;
    for (const Document::Section& section : document.sections) {
      if (section.key != open_key) {  // sections in a row with one key are one object
        object.reset();
        open_key = section.key;
        if (!section.key.empty()) {
          fields.Key(section.key);
          object.emplace('{', fields.depth(), out);
        }
      }
      for (const Document::Block& block : section.blocks) {
        AppendBlock(block, object ? *object : fields, out);
      }
    }
  }
  return out + "\n";
}

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

Result<std::string> RenderSvg(const Document& document) {
  std::string body;
  double y = kMargin;
  const auto add = [&](const Part& part) {
    body += fmt::format("<g transform=\"translate({} {})\">{}</g>\n", kMargin, y, part.content);
    y += part.height;
  };
  for (const Document::Section& section : document.sections) {
    for (const Document::Block& block : section.blocks) {
      const auto* const picture = std::get_if<Document::Picture>(&block);
      if (picture != nullptr) {
        add(HeadOf(*picture));
        if (!picture->svg.empty()) {
          add(PartOf(picture->svg));
        }
      }
    }
  }
  if (body.empty()) {
    return Fail(Error::Kind::kUnsupported, "--svg: there is nothing to draw");
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" role=\"img\" aria-label=\"{4}\">\n"
      "<style>{2}\n.ground{{fill:var(--surface)}}\n"
      ".figure text.heading{{font-size:18px;font-weight:650;fill:var(--ink)}}</style>\n{5}\n"
      "<rect class=\"ground\" width=\"{0}\" height=\"{1}\"/>\n<g class=\"figure\">\n{3}</g>\n"
      "</svg>\n",
      kWidth, y + kMargin, PageStyle(), body, draw::EscapeMarkup(document.title), HatchPattern());
}

}  // namespace orrery::report
