#include <algorithm>

#include <fmt/core.h>

#include "orrery/base/visible_text.h"
#include "orrery/draw/format.h"
#include "orrery/report/document.h"

namespace orrery::report {
namespace {

using draw::TextTable;

constexpr std::size_t kPageWidth = 100;
constexpr std::size_t kBarWidth = 10;

// Breaks text at blanks so that no line is wider than the page; lines after the first are indented.
std::string Wrapped(std::string_view text, std::size_t first_indent, std::size_t indent) {
  std::string result;
  std::string line(first_indent, ' ');
  bool is_empty = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    if (!is_empty && draw::DisplayWidth(line) + 1 + draw::DisplayWidth(word) > kPageWidth) {
      result += line + "\n";
      line.assign(indent, ' ');
      is_empty = true;
    }
    line.append(is_empty ? "" : " ").append(word);
    is_empty = false;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result + line + "\n";
}

std::string ValueWithNote(const Document::Fact& fact) {
  const std::string value = CellText(fact.value, fact.format);
  return fact.note.empty() ? value : fmt::format("{} ({})", value, fact.note);
}

std::string BarOf(double share) {
  const auto filled = static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * kBarWidth + 0.5);
  std::string bar;
  for (std::size_t i = 0; i < kBarWidth; ++i) {
    bar += i < filled ? "█" : "░";
  }
  return bar;
}

std::string TextOf(const Document::Finding& finding) {
  constexpr std::size_t kIndent = 18;
  const std::string share = finding.share ? fmt::format("{:>3.0f} %", 100 * *finding.share) : "";
  const std::string first = Wrapped(finding.text, kIndent, kIndent);
  return fmt::format("{:>5} {}  {}", share, BarOf(finding.share.value_or(0)),
                     first.substr(kIndent)) +
         (finding.more.empty() ? "" : Wrapped(finding.more, kIndent, kIndent));
}

std::string TextOf(const Document::List& list) {
  std::string text = list.heading.empty() ? "" : list.heading + "\n";
  for (const std::string& item : list.items) {
    text += list.heading.empty() ? item + "\n" : Wrapped("- " + item, 2, 4);
  }
  return text;
}

std::string TextOf(const Document::Table& table) {
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
  std::string text = table.heading.empty() ? "" : table.heading + "\n";
  text += draw::Indented(rows.Render(), indent);
  for (const std::string& line : {table.caption, HiddenRowsText(table)}) {
    text += line.empty() ? "" : draw::Indented(line + "\n", indent);
  }
  return text;
}

std::string MinorFacts(const std::vector<const Document::Fact*>& facts) {
  std::string line;
  for (const Document::Fact* const fact : facts) {
    line += fmt::format("{}{} {}", line.empty() ? "" : " · ", fact->label, ValueWithNote(*fact));
  }
  return Wrapped(line, 0, 0);
}

std::string AlignedFacts(const std::vector<const Document::Fact*>& facts) {
  std::size_t width = 0;
  for (const Document::Fact* const fact : facts) {
    width = std::max(width, draw::DisplayWidth(fact->label));
  }
  std::string lines;
  for (const Document::Fact* const fact : facts) {
    const std::size_t gap = width - draw::DisplayWidth(fact->label) + 2;
    lines += fmt::format("  {}{}{}\n", fact->label, std::string(gap, ' '), ValueWithNote(*fact));
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
  void Add(const Document::Fact& fact) {
    if (!fact.value.IsNull()) {
      GroupOf(fact.is_minor ? Group::Kind::kMinorFacts : Group::Kind::kFacts)
          .facts.push_back(&fact);
    }
  }

  void Add(const Document::Text& text) { GroupOf(Group::Kind::kLines).text += text.text + "\n"; }

  void Add(const Document::List& list) {
    if (!list.items.empty()) {
      GroupOf(list.heading.empty() ? Group::Kind::kLines : Group::Kind::kApart).text +=
          TextOf(list);
    }
  }

  void Add(const Document::Finding& finding) {
    GroupOf(Group::Kind::kFindings).text += TextOf(finding);
  }

  void Add(const Document::Table& table) {
    if (table.max_shown > 0) {
      GroupOf(Group::Kind::kApart).text = TextOf(table);
    }
  }

  void Add(const Document::Picture& /*unused*/) {}

  void Add(const Document::Field& /*unused*/) {}

  [[nodiscard]] std::vector<Group> Finish() {
    for (Group& group : groups_) {
      if (!group.facts.empty()) {
        group.text =
            group.kind == Group::Kind::kFacts ? AlignedFacts(group.facts) : MinorFacts(group.facts);
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

  std::vector<Group> groups_;
};

// Lines and facts follow the title at once.
bool FollowsTitle(const Document::Section& section, const Group& first) {
  return section.heading.empty() &&
         (first.kind == Group::Kind::kLines || first.kind == Group::Kind::kFacts ||
          first.kind == Group::Kind::kMinorFacts);
}

void AppendSection(const Document::Section& section, bool is_first, std::string& text) {
  Grouping grouping;
  for (const Document::Block& block : section.blocks) {
    std::visit([&](const auto& held) { grouping.Add(held); }, block);
  }
  const std::vector<Group> groups = grouping.Finish();
  if (groups.empty()) {
    return;
  }
  const bool is_apart = !text.empty() && !(is_first && FollowsTitle(section, groups.front()));
  text += is_apart ? "\n" : "";
  text += section.heading.empty() ? "" : section.heading + "\n";
  for (const Group& group : groups) {
    text += (&group == &groups.front() ? "" : "\n") + group.text;
  }
}

}  // namespace

std::string RenderText(const Document& document) {
  const std::string title = document.title.empty() ? "" : document.title + "\n";
  std::string text = title;
  for (const Document::Section& section : document.sections) {
    if (IsIn(Shown::kInText, section.shown)) {
      AppendSection(section, text.size() == title.size(), text);
    }
  }
  const std::string hidden = HiddenTablesText(document);
  return VisibleText(hidden.empty() ? text : fmt::format("{}\n{}\n", text, hidden));
}

}  // namespace orrery::report
