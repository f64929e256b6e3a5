#include "orrery/report/memory_page.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/core.h>

#include "orrery/draw/chart/markup.h"
#include "orrery/draw/number_format.h"
#include "orrery/draw/text_table.h"
#include "orrery/report/page.h"

namespace orrery::report {
namespace {

using draw::TextTable;

std::string NumberText(double value, MemoryUnit unit) {
  switch (unit) {
    case MemoryUnit::kBytes:
      return draw::FormatBinaryBytes({static_cast<std::int64_t>(value + 0.5)});
    case MemoryUnit::kNanoseconds:
      return draw::FormatDuration({static_cast<std::int64_t>(value + 0.5)});
    case MemoryUnit::kShare:
      return fmt::format("{:.1f} %", 100 * value);
    case MemoryUnit::kRatio:
      return fmt::format("{:.2f}×", value);
    default:
      return fmt::format("{:.6g}", value);
  }
}

std::string IntegerText(std::int64_t value, MemoryUnit unit) {
  switch (unit) {
    case MemoryUnit::kCount:
      return draw::FormatCount(value);
    case MemoryUnit::kBytes:
      return draw::FormatBinaryBytes({value});
    case MemoryUnit::kNanoseconds:
      return draw::FormatDuration({value});
    case MemoryUnit::kAddress:
      return fmt::format("{:#x}", static_cast<std::uint64_t>(value));
    default:
      return unit == MemoryUnit::kText ? fmt::format("{}", value)
                                       : NumberText(static_cast<double>(value), unit);
  }
}

std::vector<std::string> CellTexts(const MemoryTable& table,
                                   const std::vector<Table::Cell>& cells) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    texts.push_back(MemoryCellText(cells[i], table.columns[i].unit));
  }
  return texts;
}

std::size_t NumShown(const MemoryTable& table) {
  return std::min(table.rows.size(), table.max_shown);
}

std::string HiddenRows(const MemoryTable& table) {
  const std::size_t hidden = table.rows.size() - NumShown(table);
  return hidden == 0
             ? ""
             : fmt::format("{} more row{} in --json and --csv", hidden, hidden == 1 ? "" : "s");
}

std::string TableText(const MemoryTable& table) {
  std::vector<TextTable::Column> columns;
  for (const MemoryTable::Column& column : table.columns) {
    const bool is_text = column.unit == MemoryUnit::kText;
    columns.push_back({column.header, is_text ? TextTable::Align::kLeft : TextTable::Align::kRight,
                       column.max_width});
  }
  TextTable text(std::move(columns));
  for (std::size_t row = 0; row < NumShown(table); ++row) {
    text.AddRow(CellTexts(table, table.rows[row]));
  }
  const std::string hidden = HiddenRows(table);
  return fmt::format("\n{}\n{}{}{}", table.heading, draw::Indented(text.Render(), 2),
                     table.caption.empty() ? "" : fmt::format("  {}\n", table.caption),
                     hidden.empty() ? "" : fmt::format("  {}\n", hidden));
}

// Tables that are too long for people are named.
std::string UnshownText(const MemoryPage& page) {
  std::string names;
  for (const MemoryTable& table : page.tables) {
    if (table.max_shown == 0) {
      names +=
          fmt::format("{}{} ({} row{})", names.empty() ? "" : ", ", table.key,
                      draw::FormatCount(std::ssize(table.rows)), table.rows.size() == 1 ? "" : "s");
    }
  }
  return names.empty() ? "" : fmt::format("Also in --json and --csv --table NAME: {}.", names);
}

std::vector<std::string> SentencesOf(const MemoryPage& page) {
  std::vector<std::string> sentences = page.sentences;
  if (std::string unshown = UnshownText(page); !unshown.empty()) {
    sentences.push_back(std::move(unshown));
  }
  return sentences;
}

// Facts that are not known are for programs only.
std::vector<MemoryFact> KnownFacts(const MemoryPage& page) {
  std::vector<MemoryFact> known;
  std::ranges::copy_if(page.facts, std::back_inserter(known), [](const MemoryFact& fact) {
    return !std::holds_alternative<std::monostate>(fact.value);
  });
  return known;
}

// How well launches were seen, and where their times are from.
std::vector<std::string> LinesOf(const MemoryPage& page) {
  std::vector<std::string> lines = page.coverage;
  lines.insert(lines.end(), page.times.begin(), page.times.end());
  return lines;
}

std::string FactsText(const MemoryPage& page) {
  TextTable table({{.header = "what"}, {.header = "value", .align = TextTable::Align::kRight}, {}});
  const std::vector<MemoryFact> facts = KnownFacts(page);
  for (const MemoryFact& fact : facts) {
    table.AddRow({fact.label, MemoryCellText(fact.value, fact.unit), fact.note});
  }
  return facts.empty() ? "" : "\n" + draw::Indented(table.Render(), 2);
}

std::string TableHtml(const MemoryTable& table) {
  HtmlTable html;
  for (const MemoryTable::Column& column : table.columns) {
    html.columns.push_back({column.header, column.unit != MemoryUnit::kText});
  }
  html.style = "hops";
  for (std::size_t row = 0; row < NumShown(table); ++row) {
    html.rows.push_back(CellTexts(table, table.rows[row]));
  }
  const std::string hidden = HiddenRows(table);
  std::string body = table.caption.empty() ? "" : Caption(table.caption);
  body += RenderTable(html) + (hidden.empty() ? "" : Caption(hidden));
  return Section(table.key, table.heading, body);
}

std::string PictureHtml(const MemoryPicture& picture, std::size_t number) {
  return Section(fmt::format("picture{}", number), picture.heading,
                 (picture.caption.empty() ? "" : Caption(picture.caption)) +
                     (picture.legend.empty() ? "" : draw::RenderLegend(picture.legend)) +
                     (picture.svg.empty() ? Caption("Nothing to draw.") : Framed(picture.svg)));
}

std::string HeaderHtml(const MemoryPage& page) {
  std::string header = fmt::format(
      "<header><div class=\"top\"><span class=\"brand\">Orrery memory: {}</span>"
      "<button id=\"theme\" type=\"button\">light / dark</button></div>\n<h1>{}</h1>\n",
      draw::EscapeMarkup(page.tool), draw::EscapeMarkup(page.title));
  std::vector<Tile> tiles;
  for (const MemoryFact& fact : KnownFacts(page)) {
    tiles.push_back(
        {.label = fact.label, .value = MemoryCellText(fact.value, fact.unit), .note = fact.note});
  }
  for (const std::string& line : LinesOf(page)) {
    header += Caption(line);
  }
  return header + (tiles.empty() ? "" : RenderTiles(tiles)) + "</header>\n";
}

}  // namespace

std::string MemoryCellText(const Table::Cell& cell, MemoryUnit unit) {
  if (const auto* const integer = std::get_if<std::int64_t>(&cell)) {
    return IntegerText(*integer, unit);
  }
  if (const auto* const number = std::get_if<double>(&cell)) {
    return NumberText(*number, unit);
  }
  const auto* const text = std::get_if<std::string>(&cell);
  return text == nullptr ? "–" : *text;
}

std::string RenderMemoryText(const MemoryPage& page) {
  std::string text = fmt::format("{}: {}\n", page.title, page.tool);
  for (const std::string& line : LinesOf(page)) {
    text += line + "\n";
  }
  text += FactsText(page);
  for (const MemoryTable& table : page.tables) {
    text += table.max_shown == 0 ? "" : TableText(table);
  }
  const std::vector<std::string> sentences = SentencesOf(page);
  text += sentences.empty() ? "" : "\n";
  for (const std::string& sentence : sentences) {
    text += sentence + "\n";
  }
  return text;
}

std::string RenderMemoryHtml(const MemoryPage& page) {
  std::string body = HeaderHtml(page);
  for (std::size_t i = 0; i < page.pictures.size(); ++i) {
    body += PictureHtml(page.pictures[i], i);
  }
  for (const MemoryTable& table : page.tables) {
    body += table.max_shown == 0 ? "" : TableHtml(table);
  }
  const std::vector<std::string> sentences = SentencesOf(page);
  if (!sentences.empty()) {
    body += Section("rules", "How to read it", RenderList(sentences));
  }
  return Page(page.title, body);
}

}  // namespace orrery::report
