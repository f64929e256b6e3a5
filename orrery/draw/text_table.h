#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::draw {

/// The columns of text for people where the width of the terminal is not known.
inline constexpr std::size_t kPageWidth = 100;

struct WrapOptions {
  std::size_t first_indent = 0;  // blanks in front of the first line
  std::size_t indent = 0;        // and in front of the others
  std::size_t width = kPageWidth;
};

/// Returns text as lines that are at most `width` columns wide, broken at blanks; a word that is
/// wider has a line of its own, so that it can be copied. Line ends in the text are kept.
[[nodiscard]] std::string Wrapped(std::string_view text, const WrapOptions& options);

/// A table for people: columns padded with spaces, a rule under the header, no blanks at line ends.
/// Where it is wider than the page, headers are broken into lines, then cells of text.
class TextTable {
 public:
  enum class Align { kLeft, kRight };

  struct Column {
    std::string header;
    Align align = Align::kLeft;
    std::size_t max_width = 0;  // longer cells end in "…"; 0: no limit
  };

  /// Returns what a terminal shows instead of a line of a cell or header: the same in colour.
  using Paint = std::function<std::string(std::string_view line)>;

  explicit TextTable(std::vector<Column> columns);

  /// Cells in the order of the columns; missing ones at the end stay empty.
  void AddRow(std::vector<std::string> cells);

  /// Returns the lines, each with its line end.
  [[nodiscard]] std::string Render(std::size_t page_width = kPageWidth,
                                   const Paint& paint = {}) const;

  using Lines = std::vector<std::string>;  // of one cell

 private:
  void AppendRow(const std::vector<Lines>& row, const std::vector<std::size_t>& widths,
                 const Paint& paint, std::string& text) const;
  [[nodiscard]] std::size_t WidestCell(std::size_t column) const;
  [[nodiscard]] std::size_t WidestWord(std::size_t column) const;
  [[nodiscard]] std::vector<std::size_t> Widths(std::size_t page_width) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace orrery::draw
