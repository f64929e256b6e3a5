#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/document/value.h"
#include "orrery/base/text/visible_text.h"
#include "orrery/draw/format.h"
#include "orrery/draw/text_table.h"
#include "orrery/report/document.h"

namespace orrery::report {
namespace {

using draw::TextTable;

constexpr std::size_t kBarWidth = 10;

// Of a terminal.
constexpr std::string_view kBold = "1";
constexpr std::string_view kRed = "1;31";
constexpr std::string_view kGreen = "32";
constexpr std::string_view kYellow = "1;33";

/// Breaks lines at the width of the page and colours them. Only here text gets the escapes of a
/// terminal; those of names from outside are made visible before.
class Pen {
 public:
  explicit Pen(const TextOptions& options) : options_(options) {}

  [[nodiscard]] std::size_t width() const { return options_.width; }

  [[nodiscard]] std::string Wrapped(std::string_view text, std::size_t first_indent,
                                    std::size_t indent) const {
    return draw::Wrapped(VisibleText(text),
                         {.first_indent = first_indent, .indent = indent, .width = options_.width});
  }

  /// Colours lines; the last line end stays outside.
  [[nodiscard]] std::string Painted(std::string_view lines, std::string_view color) const {
    if (!options_.has_color || color.empty() || lines.empty()) {
      return std::string(lines);
    }
    const std::string_view end = lines.ends_with('\n') ? "\n" : "";
    lines.remove_suffix(end.size());
    return fmt::format("\x1b[{}m{}\x1b[0m{}", color, lines, end);
  }

  [[nodiscard]] std::string Heading(std::string_view text, std::string_view color = kBold) const {
    return text.empty() ? "" : Painted(Wrapped(text, 0, 2), color);
  }

  [[nodiscard]] std::string Cell(std::string_view text) const {
    return Painted(text, text == "worse" ? kRed : text == "better" ? kGreen : "");
  }

 private:
  TextOptions options_;
};

std::string ValueWithNote(const Document::Fact& fact) {
  const std::string value = CellText(fact.value, fact.format);
  return fact.note.empty() ? value : fmt::format("{} ({})", value, fact.note);
}

std::string BarOf(double share) {
  const auto filled =
      static_cast<std::size_t>(std::llround(std::clamp(share, 0.0, 1.0) * kBarWidth));
  std::string bar;
  for (std::size_t i = 0; i < kBarWidth; ++i) {
    bar += i < filled ? "█" : "░";
  }
  return bar;
}

std::string TextOf(const Document::Finding& finding, const Pen& pen) {
  constexpr std::size_t kIndent = 18;
  const std::string share = finding.share ? fmt::format("{:>3.0f} %", 100 * *finding.share) : "";
  const std::string first = pen.Wrapped(finding.text, kIndent, kIndent);
  return fmt::format("{:>5} {}  {}", share, BarOf(finding.share.value_or(0)),
                     first.substr(kIndent)) +
         (finding.more.empty() ? "" : pen.Wrapped(finding.more, kIndent, kIndent));
}

std::string TextOf(const Document::List& list, const Pen& pen) {
  std::string text = pen.Heading(list.heading, list.is_warning ? kYellow : kBold);
  for (const std::string& item : list.items) {
    text += list.heading.empty() ? pen.Wrapped(item, 0, 2) : pen.Wrapped("- " + item, 2, 4);
  }
  return text;
}

std::string TextOf(const Document::Text& text, const Pen& pen) {
  using enum Document::Text::Style;
  return pen.Painted(pen.Wrapped(text.text, 0, 2), text.style == kAlarm     ? kRed
                                                   : text.style == kVerdict ? kBold
                                                                            : "");
}

std::string TextOf(const Document::Table& table, const Pen& pen) {
  std::vector<std::size_t> shown;
  std::vector<TextTable::Column> columns;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const Document::Column& column = table.columns[i];
    if (IsIn(Shown::kInText, column.shown)) {
      const bool is_text = column.format.unit == Unit::kText;
      columns.push_back({column.header,
                         is_text ? TextTable::Align::kLeft : TextTable::Align::kRight,
                         column.max_width});
      shown.push_back(i);
    }
  }
  TextTable rows(std::move(columns));
  for (const std::vector<Value>& row : ShownRows(table)) {
    std::vector<std::string> cells;
    for (const std::size_t column : shown) {
      cells.push_back(column < row.size() ? CellText(row[column], table.columns[column].format)
                                          : "");
    }
    rows.AddRow(std::move(cells));
  }
  const std::size_t indent = table.heading.empty() ? 0 : 2;
  std::string text = pen.Heading(table.heading);
  text += draw::Indented(
      rows.Render(pen.width() - indent, [&](std::string_view line) { return pen.Cell(line); }),
      indent);
  for (const std::string& line : {table.caption, HiddenRowsText(table)}) {
    text += line.empty() ? "" : pen.Wrapped(line, indent, indent);
  }
  return text;
}

std::string MinorFacts(const std::vector<const Document::Fact*>& facts, const Pen& pen) {
  std::string line;
  for (const Document::Fact* const fact : facts) {
    line += fmt::format("{}{} {}", line.empty() ? "" : " · ", fact->label, ValueWithNote(*fact));
  }
  return pen.Wrapped(line, 0, 0);
}

std::string AlignedFacts(const std::vector<const Document::Fact*>& facts, const Pen& pen) {
  std::size_t width = 0;
  for (const Document::Fact* const fact : facts) {
    width = std::max(width, draw::DisplayWidth(fact->label));
  }
  std::string lines;
  for (const Document::Fact* const fact : facts) {
    const std::string value = pen.Wrapped(ValueWithNote(*fact), width + 4, width + 4);
    const std::string gap(width - draw::DisplayWidth(fact->label) + 2, ' ');
    lines += fmt::format("  {}{}{}", VisibleText(fact->label), gap,
                         value.size() < width + 4 ? "\n" : value.substr(width + 4));
  }
  return lines;
}

/// Blocks in a row that belong together; a blank line separates groups.
struct Group {
  enum class Kind : std::uint8_t { kLines, kFacts, kMinorFacts, kFindings, kApart };

  Kind kind = Kind::kApart;
  std::string text = {};
  std::vector<const Document::Fact*> facts = {};  // aligned when all are known
};

class Grouping {
 public:
  explicit Grouping(const Pen& pen) : pen_(pen) {}

  void Add(const Document::Fact& fact) {
    if (!fact.value.IsNull()) {
      GroupOf(fact.is_minor ? Group::Kind::kMinorFacts : Group::Kind::kFacts)
          .facts.push_back(&fact);
    }
  }

  void Add(const Document::Text& text) { GroupOf(Group::Kind::kLines).text += TextOf(text, pen_); }

  void Add(const Document::List& list) {
    if (!list.items.empty()) {
      GroupOf(list.heading.empty() ? Group::Kind::kLines : Group::Kind::kApart).text +=
          TextOf(list, pen_);
    }
  }

  void Add(const Document::Finding& finding) {
    GroupOf(Group::Kind::kFindings).text += TextOf(finding, pen_);
  }

  void Add(const Document::Table& table) {
    if (table.max_shown > 0) {
      GroupOf(Group::Kind::kApart).text = TextOf(table, pen_);
    }
  }

  void Add(const Document::Picture& /*unused*/) {}

  void Add(const Document::Field& /*unused*/) {}

  [[nodiscard]] std::vector<Group> Finish() {
    for (Group& group : groups_) {
      if (!group.facts.empty()) {
        group.text = group.kind == Group::Kind::kFacts ? AlignedFacts(group.facts, pen_)
                                                       : MinorFacts(group.facts, pen_);
      }
    }
    return std::move(groups_);
  }

 private:
  Group& GroupOf(Group::Kind kind) {
    if (groups_.empty() || groups_.back().kind != kind || kind == Group::Kind::kApart) {
      groups_.push_back({.kind = kind});
    }
    return groups_.back();
  }

  const Pen& pen_;
  std::vector<Group> groups_;
};

// Lines and fields follow the title at once.
bool FollowsTitle(const Document::Section& section, const Group& first) {
  return section.heading.empty() &&
         (first.kind == Group::Kind::kLines || first.kind == Group::Kind::kFacts ||
          first.kind == Group::Kind::kMinorFacts);
}

void AppendSection(const Document::Section& section, bool is_first, const Pen& pen,
                   std::string& text) {
  Grouping grouping(pen);
  for (const Document::Block& block : section.blocks) {
    std::visit([&](const auto& held) { grouping.Add(held); }, block);
  }
  const std::vector<Group> groups = grouping.Finish();
  if (groups.empty()) {
    return;
  }
  const bool is_apart = !text.empty() && !(is_first && FollowsTitle(section, groups.front()));
  text += is_apart ? "\n" : "";
  text += pen.Heading(section.heading);
  for (const Group& group : groups) {
    text += (&group == &groups.front() ? "" : "\n") + group.text;
  }
}

}  // namespace

std::string RenderText(const Document& document, const TextOptions& options) {
  const Pen pen(options);
  const std::string title = pen.Heading(document.title);
  std::string text = title;
  for (const Document::Section& section : document.sections) {
    if (IsIn(Shown::kInText, section.shown)) {
      AppendSection(section, text.size() == title.size(), pen, text);
    }
  }
  const std::string hidden = HiddenTablesText(document);
  return hidden.empty() ? text : fmt::format("{}\n{}", text, pen.Wrapped(hidden, 0, 2));
}

}  // namespace orrery::report
