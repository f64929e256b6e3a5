#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::report {

// What the sections of a page are made of.

/// Returns a whole page that needs nothing else; `body` is HTML.
[[nodiscard]] std::string Page(std::string_view title, std::string_view body);

/// Styles of the page, light and dark.
[[nodiscard]] std::string PageStyle();

/// The script: texts for the pointer, the switch between light and dark, the filter of tables.
[[nodiscard]] std::string_view PageScript();

/// Returns a section with a heading; `body` is HTML.
[[nodiscard]] std::string Section(std::string_view id, std::string_view heading,
                                  std::string_view body);

/// Returns a paragraph of plain text that says how to read a picture.
[[nodiscard]] std::string Caption(std::string_view text);

/// Returns a picture in a frame that scrolls sideways on narrow screens; `svg` is SVG.
[[nodiscard]] std::string Framed(std::string_view svg);

/// A name and its value, plain text.
struct NamedText {
  std::string name;
  std::string value;
};

/// Returns facts side by side.
[[nodiscard]] std::string RenderFacts(const std::vector<NamedText>& facts);

/// A number to see first.
struct Tile {
  std::string label;
  std::string value;
  std::string note = {};
  std::string swatch = {};  // SVG in front of the label
};

[[nodiscard]] std::string RenderTiles(const std::vector<Tile>& tiles);

/// Returns sentences as a list; plain text.
[[nodiscard]] std::string RenderList(const std::vector<std::string>& sentences);

/// A table for people; cells are plain text.
struct HtmlTable {
  struct Column {
    std::string header;
    bool is_number = false;       // to the right
    std::size_t max_letters = 0;  // of a longer cell the pointer shows the rest; 0: no limit
    bool has_long_words = false;  // which may be broken anywhere
  };

  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows = {};
  std::string style = {};
};

[[nodiscard]] std::string RenderTable(const HtmlTable& table);

}  // namespace orrery::report
