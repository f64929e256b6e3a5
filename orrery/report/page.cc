#include "orrery/report/page.h"

#include <cstddef>
#include <iterator>

#include <fmt/core.h>
#include <fmt/format.h>

#include "orrery/draw/chart/markup.h"
#include "orrery/draw/text_table.h"

namespace orrery::report {
namespace {

using draw::EscapeMarkup;

// Before the first paint, so that "#dark" does not flash.
constexpr std::string_view kThemeFromAddress =
    "<script>if(/^#(dark|light)$/.test(location.hash))"
    "document.documentElement.dataset.theme=location.hash.slice(1)</script>";

// The hatching that all pictures share.
constexpr std::string_view kPatterns =
    R"html(<svg width="0" height="0" style="position:absolute" aria-hidden="true">
<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
<rect width="6" height="6"/><path d="M3 0V6"/></pattern></defs></svg>
)html";

std::string CellContent(const HtmlTable::Column& column, const std::string& cell) {
  if (column.max_letters == 0 || draw::DisplayWidth(cell) <= column.max_letters) {
    return EscapeMarkup(cell);
  }
  return fmt::format("<span data-tip=\"{}\">{}</span>", EscapeMarkup(cell),
                     EscapeMarkup(draw::Truncated(cell, column.max_letters)));
}

std::string_view ClassOf(const HtmlTable::Column& column) {
  return column.is_number ? " class=\"number\"" : column.has_long_words ? " class=\"names\"" : "";
}

std::string Row(const HtmlTable& table, const std::vector<std::string>& cells,
                std::string_view element) {
  std::string out = "<tr>";
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    fmt::format_to(std::back_inserter(out), "<{0}{1}>{2}</{0}>", element,
                   ClassOf(table.columns[column]),
                   column < cells.size() ? CellContent(table.columns[column], cells[column]) : "");
  }
  return out + "</tr>\n";
}

}  // namespace

std::string Page(std::string_view title, std::string_view body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
      "<title>{}</title>\n{}\n<style>{}</style>\n</head>\n<body>\n{}<main>\n{}</main>\n"
      "<div id=\"tip\"></div>\n<script>{}</script>\n</body>\n</html>\n",
      EscapeMarkup(title), kThemeFromAddress, PageStyle(), kPatterns, body, PageScript());
}

std::string Section(std::string_view id, std::string_view heading, std::string_view body) {
  return fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n{}</section>\n", id, EscapeMarkup(heading),
                     body);
}

std::string Caption(std::string_view text) {
  return fmt::format("<p class=\"caption\">{}</p>\n", EscapeMarkup(text));
}

std::string Framed(std::string_view svg) {
  return fmt::format("<div class=\"figure\">{}</div>\n", svg);
}

std::string RenderFacts(const std::vector<NamedText>& facts) {
  std::string out = "<dl class=\"facts\">";
  for (const NamedText& fact : facts) {
    fmt::format_to(std::back_inserter(out), "<div><dt>{}</dt><dd>{}</dd></div>",
                   EscapeMarkup(fact.name), EscapeMarkup(fact.value));
  }
  return out + "</dl>\n";
}

std::string RenderTiles(const std::vector<Tile>& tiles) {
  std::string out = "<div class=\"figures\">";
  for (const Tile& tile : tiles) {
    fmt::format_to(std::back_inserter(out),
                   "<div class=\"tile\"><span>{}{}</span><b>{}</b><span>{}</span></div>",
                   tile.swatch, EscapeMarkup(tile.label), EscapeMarkup(tile.value),
                   EscapeMarkup(tile.note));
  }
  return out + "</div>\n";
}

std::string RenderList(const std::vector<std::string>& sentences) {
  std::string items = "<ul>";
  for (const std::string& sentence : sentences) {
    items += fmt::format("<li>{}</li>\n", EscapeMarkup(sentence));
  }
  return items + "</ul>\n";
}

std::string RenderTable(const HtmlTable& table) {
  std::vector<std::string> headers;
  for (const HtmlTable::Column& column : table.columns) {
    headers.push_back(column.header);
  }
  std::string out =
      fmt::format("<div class=\"scroll\"><table class=\"{}\"><thead>{}</thead><tbody>\n",
                  table.style, Row(table, headers, "th"));
  for (const std::vector<std::string>& cells : table.rows) {
    out += Row(table, cells, "td");
  }
  return out + "</tbody></table></div>\n";
}

}  // namespace orrery::report
