#include "orrery/cli/help/wrapped_help.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "orrery/draw/format.h"
#include "orrery/draw/text_table.h"

namespace orrery::cli {
namespace {

/// A line of help, and those below that go on with it: "  --gpu NAME      GPU to predict for".
struct Entry {
  std::string head;    // the part left of the text, blanks included
  std::string text;    // on one line
  std::size_t indent;  // the column where further lines begin
};

std::size_t BlanksBefore(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

Entry EntryOf(std::string_view line) {
  const std::size_t blanks = BlanksBefore(line);
  const std::size_t gap = blanks == 0 ? line.npos : line.find("  ", blanks);
  const std::size_t column = gap == line.npos ? blanks : line.find_first_not_of(' ', gap);
  // Options and examples without a right column go on deeper than the next one begins.
  return {.head = std::string(line.substr(0, column)),
          .text = std::string(line.substr(column)),
          .indent = column == 2 ? 6 : column};
}

bool GoesOn(const Entry& entry, std::string_view line) {
  return !entry.text.empty() && !line.empty() && BlanksBefore(line) == entry.indent &&
         !line.starts_with("Usage:");
}

std::string_view TakeLine(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == text.npos ? text.size() : end + 1);
  return line;
}

}  // namespace

std::string WrappedHelp(std::string_view help, std::size_t width) {
  std::string wrapped;
  while (!help.empty()) {
    const std::string_view begin = help;
    std::string_view line = TakeLine(help);
    Entry entry = EntryOf(line);
    std::size_t widest = draw::DisplayWidth(line);
    for (std::string_view rest = help; GoesOn(entry, line = TakeLine(rest)); help = rest) {
      entry.text.append(" ").append(line.substr(entry.indent));
      widest = std::max(widest, draw::DisplayWidth(line));
    }
    std::string lines(begin.substr(0, begin.size() - help.size()));
    if (widest > width) {
      const std::size_t left = entry.head.size();
      lines =
          draw::Wrapped(entry.text, {.first_indent = left, .indent = entry.indent, .width = width});
      lines.replace(0, left, entry.head);
    }
    wrapped += lines;
  }
  return wrapped;
}

}  // namespace orrery::cli
