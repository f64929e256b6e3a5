#include <algorithm>
#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/document/value.h"
#include "orrery/base/text/text.h"
#include "orrery/draw/chart/canvas.h"
#include "orrery/draw/format.h"
#include "orrery/report/document.h"
#include "orrery/report/page.h"

namespace orrery::report {
namespace {

using draw::EscapeMarkup;

// Of a text in a cell of a page, two or three lines of it.
constexpr std::size_t kMostLetters = 110;

// Of a word that makes a column too wide unless it is broken: names of kernels.
constexpr std::size_t kLongWord = 24;

// Of headings on a page that needs links to its parts.
constexpr std::size_t kManyHeadings = 5;

// Of a text that stays on one line, and of one that may not be squeezed into a narrow column.
constexpr std::size_t kShortText = 26;

// Of a command that names hundreds of files.
constexpr std::size_t kMostOfCommand = 1000;

// Of columns of a table that needs smaller letters.
constexpr std::size_t kManyColumns = 12;

// A column without values (times of a recording that has none) is left out of pages.
std::vector<std::size_t> KnownColumns(const Document::Table& table) {
  std::vector<std::size_t> known;
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    const bool is_known = std::ranges::any_of(table.rows, [&](const std::vector<Value>& cells) {
      return column < cells.size() && !cells[column].IsNull();
    });
    if (IsIn(Shown::kInHtml, table.columns[column].shown) && (is_known || table.rows.empty())) {
      known.push_back(column);
    }
  }
  return known;
}

std::size_t LongestWord(std::string_view text) {
  std::size_t longest = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    longest = std::max(longest, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return longest;
}

// A longer text ends in "…", and the pointer shows the rest.
std::string CellContent(const std::string& text, bool is_number) {
  if (is_number || draw::DisplayWidth(text) <= kMostLetters) {
    return EscapeMarkup(text);
  }
  return fmt::format("<span data-tip=\"{}\">{}</span>", EscapeMarkup(text),
                     EscapeMarkup(draw::Truncated(text, kMostLetters)));
}

std::string_view StyleOf(const std::vector<std::string>& cells, bool is_number) {
  std::size_t widest = 0;
  std::size_t longest_word = 0;
  for (const std::string& cell : cells) {
    widest = std::max(widest, draw::DisplayWidth(cell));
    longest_word = std::max(longest_word, LongestWord(cell));
  }
  return is_number                  ? " class=\"number\""
         : longest_word > kLongWord ? " class=\"names\""
         : widest <= kShortText     ? " class=\"short\""
                                    : " class=\"words\"";
}

std::string RenderTable(const Document::Table& table) {
  const std::vector<std::vector<Value>> shown = ShownRows(table);
  std::vector<std::string> lines(shown.size() + 1, "<tr>");
  const std::vector<std::size_t> columns = KnownColumns(table);
  for (const std::size_t column : columns) {
    const Document::Column& about = table.columns[column];
    const bool is_number = about.format.unit != Unit::kText;
    std::vector<std::string> cells;
    for (const std::vector<Value>& row : shown) {
      cells.push_back(column < row.size() ? CellText(row[column], about.format) : "");
    }
    const std::string_view style = StyleOf(cells, is_number);
    lines[0] += fmt::format("<th{}>{}</th>", style, CellContent(about.header, is_number));
    for (std::size_t row = 0; row < cells.size(); ++row) {
      lines[row + 1] += fmt::format("<td{}>{}</td>", style, CellContent(cells[row], is_number));
    }
  }
  std::string body;
  for (const std::string& line : std::span(lines).subspan(1)) {
    body += line + "</tr>\n";
  }
  return fmt::format(
      "<div class=\"scroll\"><table class=\"{}{}\"><thead>{}</tr>\n</thead><tbody>\n{}"
      "</tbody></table></div>\n",
      columns.size() > kManyColumns ? "wide" : "", table.has_filter ? " filtered" : "", lines[0],
      body);
}

std::string Caption(std::string_view text) {
  return text.empty() ? "" : fmt::format("<p class=\"caption\">{}</p>\n", EscapeMarkup(text));
}

// Headings are written for text, in small letters.
std::string WithCapital(std::string text) {
  if (!text.empty() && text.front() >= 'a' && text.front() <= 'z') {
    text.front() = static_cast<char>(text.front() - 'a' + 'A');
  }
  return text;
}

// "where-the-time-goes"
std::string AnchorOf(std::string_view heading) {
  std::string anchor;
  for (const char c : LowerCase(heading)) {
    if ((c >= 'a' && c <= 'z') || IsDigit(c)) {
      anchor += c;
    } else if (!anchor.empty() && anchor.back() != '-') {
      anchor += '-';
    }
  }
  return anchor.ends_with('-') ? anchor.substr(0, anchor.size() - 1) : anchor;
}

std::string ShareOf(const Document::Finding& finding) {
  if (!finding.share) {
    return "<div></div>";
  }
  const double percent = 100 * std::clamp(*finding.share, 0.0, 1.0);
  return fmt::format("<div class=\"share\">{0:.0f} %<i><i style=\"width:{0:.0f}%\"></i></i></div>",
                     percent);
}

// A number and its percent sign stay on one line.
std::string Sentence(std::string_view text) {
  constexpr std::string_view kNoBreak = "\u00a0%";
  std::string out = EscapeMarkup(text);
  for (std::size_t at = out.find(" %"); at != std::string::npos; at = out.find(" %", at)) {
    out.replace(at, 2, kNoBreak);
  }
  return out;
}

std::string PerfettoHint(const std::string& command) {
  return command.empty() ? ""
                         : fmt::format(
                               "<p class=\"caption\">The same in Perfetto: <code>{}</code> "
                               "writes a file for ui.perfetto.dev.</p>\n",
                               EscapeMarkup(command));
}

std::string Paragraph(const Document::Text& text) {
  switch (text.style) {
    case Document::Text::Style::kAlarm:
      return fmt::format("<div class=\"alarm\">{}</div>\n", Sentence(text.text));
    case Document::Text::Style::kVerdict:
      return fmt::format("<p class=\"verdict\">{}</p>\n", Sentence(text.text));
    case Document::Text::Style::kPlain:
      break;
  }
  return Caption(text.text);
}

std::string Footer(const Document& document, const MadeBy& made_by) {
  std::string lines;
  if (const std::string hidden = HiddenTablesText(document); !hidden.empty()) {
    lines += fmt::format("<p>{}</p>\n", EscapeMarkup(hidden));
  }
  if (!made_by.version.empty()) {
    lines += fmt::format("<p id=\"made-by\">{} · {} · <code>{}</code></p>\n",
                         EscapeMarkup(made_by.version), EscapeMarkup(made_by.date),
                         EscapeMarkup(draw::Truncated(made_by.command, kMostOfCommand)));
  }
  return lines.empty() ? "" : fmt::format("<footer>\n{}</footer>\n", lines);
}

/// Writes the blocks of a page. Adjacent tiles, minor fields and findings share a frame.
class HtmlPage {
 public:
  void AddSection(const Document::Section& section) {
    CloseRow();
    if (!section.heading.empty()) {
      EndLead();
      OpenSection(section.heading);
    }
    is_inside_ = !section.heading.empty();
    for (const Document::Block& block : section.blocks) {
      std::visit([&](const auto& held) { Add(held); }, block);
    }
    CloseRow();
    SetFold("");
    if (is_inside_) {
      body_ += "</section>\n";
      is_inside_ = false;
    }
  }

  [[nodiscard]] std::string Finish(const Document& document, const MadeBy& made_by) {
    EndLead();
    const std::string kind = document.kind.empty() ? "Orrery" : document.kind;
    const std::string& title = document.title.empty() ? kind : document.title;
    const std::string header = fmt::format(
        "<header><div class=\"top\"><span class=\"brand\">{}</span>"
        "<button id=\"theme\" type=\"button\">light / dark</button></div>\n<h1>{}</h1>\n{}"
        "</header>\n",
        EscapeMarkup(kind), EscapeMarkup(title), lead_);
    const std::string navigation =
        anchors_.size() < kManyHeadings ? "" : fmt::format("<nav>{}</nav>\n", links_);
    return Page(title, header + navigation + body_ + Footer(document, made_by));
  }

 private:
  void Add(const Document::Fact& fact) {
    if (fact.value.IsNull()) {
      return;
    }
    const std::string value = CellText(fact.value, fact.format);
    if (fact.is_minor) {
      minor_ +=
          fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", EscapeMarkup(fact.label),
                      EscapeMarkup(fact.note.empty() ? value : value + " (" + fact.note + ")"));
    } else {
      tiles_ += fmt::format("<div class=\"tile\"><span>{}{}</span><b>{}</b><span>{}</span></div>",
                            fact.series ? draw::RenderSwatch(*fact.series) : "",
                            EscapeMarkup(WithCapital(fact.label)), EscapeMarkup(value),
                            EscapeMarkup(fact.note));
    }
  }

  void Add(const Document::Text& text) {
    CloseRow();
    SetFold("");
    body_ += Paragraph(text);
  }

  void Add(const Document::List& list) {
    if (list.items.empty()) {
      return;
    }
    std::string lines;
    for (const std::string& item : list.items) {
      lines += list.heading.empty() ? (lines.empty() ? "" : "<br>") + EscapeMarkup(item)
                                    : fmt::format("<li>{}</li>\n", EscapeMarkup(item));
    }
    if (list.heading.empty()) {
      CloseRow();
      SetFold("");
      body_ += fmt::format("<p class=\"caption\">{}</p>\n", lines);
    } else {
      AddPart(list.heading, fmt::format("<ul>{}</ul>\n", lines));
    }
  }

  void Add(const Document::Finding& finding) {
    findings_ +=
        fmt::format("<li>{}<div><p>{}</p>{}</div></li>\n", ShareOf(finding), Sentence(finding.text),
                    finding.more.empty() ? "" : fmt::format("<p>{}</p>", Sentence(finding.more)));
  }

  void Add(const Document::Table& table) {
    if (table.max_shown == 0) {
      return;
    }
    std::string body = Caption(table.caption);
    if (table.has_filter) {
      body +=
          "<input id=\"filter\" type=\"search\" placeholder=\"filter\" aria-label=\"filter\">\n";
    }
    AddPart(table.heading, body + RenderTable(table) + Caption(HiddenRowsText(table)), table.fold);
  }

  void Add(const Document::Picture& picture) {
    AddPart(
        picture.heading,
        Caption(picture.caption) +
            (picture.legend.empty() ? "" : draw::RenderLegend(picture.legend)) +
            (picture.svg.empty() ? Caption("Nothing to draw.")
                                 : fmt::format("<div class=\"figure\">{}</div>\n", picture.svg)) +
            PerfettoHint(picture.perfetto),
        picture.fold);
  }

  void Add(const Document::Field& /*unused*/) {}

  // In a section with a heading a part has a smaller one; else it is a section.
  void AddPart(const std::string& heading, const std::string& body, const std::string& fold = {}) {
    CloseRow();
    if (is_inside_) {
      SetFold(fold);
      body_ += heading.empty()
                   ? body
                   : fmt::format("<h3>{}</h3>\n{}", EscapeMarkup(WithCapital(heading)), body);
      return;
    }
    EndLead();
    OpenSection(heading);
    SetFold(fold);
    body_ += body;
    SetFold("");
    body_ += "</section>\n";
  }

  // Neighbours with the same line are hidden behind it together.
  void SetFold(const std::string& line) {
    if (line == fold_) {
      return;
    }
    body_ += fold_.empty() ? "" : "</details>\n";
    if (!line.empty()) {
      body_ += fmt::format("<details><summary>{}</summary>\n", EscapeMarkup(line));
    }
    fold_ = line;
  }

  void OpenSection(const std::string& heading) {
    if (heading.empty()) {
      body_ += "<section>\n";
      return;
    }
    const std::string shown = WithCapital(heading);
    const std::string subject = shown.substr(0, shown.find_first_of(",:("));
    std::string anchor = AnchorOf(subject);
    if (anchors_.insert(anchor).second) {
      links_ += fmt::format("<a href=\"#{}\">{}</a>\n", anchor, EscapeMarkup(subject));
    } else {
      anchor = AnchorOf(shown);
    }
    body_ += fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n", anchor, EscapeMarkup(shown));
  }

  void CloseRow() {
    for (const auto& [frame, items] : {std::pair("<dl class=\"facts\">{}</dl>\n", &minor_),
                                       {"<div class=\"figures\">{}</div>\n", &tiles_},
                                       {"<ol class=\"findings\">\n{}</ol>\n", &findings_}}) {
      if (!items->empty()) {
        SetFold("");
      }
      body_ += items->empty() ? "" : fmt::format(fmt::runtime(frame), *items);
      items->clear();
    }
  }

  // All before the first section belongs to the head of the page.
  void EndLead() {
    CloseRow();
    if (!has_lead_) {
      lead_ = std::move(body_);
      body_.clear();
      has_lead_ = true;
    }
  }

  std::string lead_;
  std::string fold_;
  std::string body_;
  std::string links_;
  std::string findings_;
  std::set<std::string> anchors_;
  std::string minor_;
  std::string tiles_;
  bool has_lead_ = false;
  bool is_inside_ = false;  // of a section with a heading
};

}  // namespace

std::string RenderHtml(const Document& document, const MadeBy& made_by) {
  HtmlPage page;
  for (const Document::Section& section : document.sections) {
    if (IsIn(Shown::kInHtml, section.shown)) {
      page.AddSection(section);
    }
  }
  return page.Finish(document, made_by);
}

}  // namespace orrery::report
