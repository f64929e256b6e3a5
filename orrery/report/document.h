#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "orrery/base/document/value.h"
#include "orrery/base/error.h"
#include "orrery/base/text/table.h"
#include "orrery/draw/chart/canvas.h"
#include "orrery/draw/text_table.h"

namespace orrery::report {

/// The unit of a number. People see it with its unit, programs get it as it is.
enum class Unit : std::uint8_t {
  kText,
  kCount,         // with separators
  kNumber,        // without; what is not whole with six digits
  kBytes,         // powers of 1,024
  kDecimalBytes,  // powers of 1,000
  kNanoseconds,   // as a duration
  kShare,         // 0 to 1, as percent
  kRatio,         // with two digits and "×"
  kAddress,       // hexadecimal
};

/// The format of a number: by its unit, or by a format of fmt for the number times `scale`.
struct NumberFormat {
  Unit unit = Unit::kText;
  std::string format = {};
  double scale = 1;

  NumberFormat(Unit shown_as = Unit::kText) : unit(shown_as) {}  // NOLINT: implicit

  explicit NumberFormat(std::string text, double times = 1)
      : unit(Unit::kCount), format(std::move(text)), scale(times) {}
};

/// Returns a value as people read it; a missing one is "–".
[[nodiscard]] std::string CellText(const Value& value, const NumberFormat& format);

/// Formats beside JSON in which a part of a document appears.
enum class Shown : std::uint8_t { kEverywhere, kInText, kInHtml, kNowhere };

/// The output of a verb, written once and rendered as text, JSON, CSV, HTML or SVG. It consists of
/// sections, and they of blocks in their order. Blocks that have a key are fields of the JSON
/// object; a section that has a key is an object of its own in it.
struct Document {
  /// A number or text with its name. Adjacent ones are aligned; on a page they are tiles.
  struct Fact {
    std::string key = {};  // in JSON, with the unit: "peak_bytes"; empty: only for people
    std::string label = {};
    Value value = {};
    NumberFormat format = Unit::kText;
    std::string note = {};
    bool is_minor = false;                    // adjacent minor ones share a line
    std::optional<draw::Series> series = {};  // whose colour the tile has
  };

  /// A sentence or a line.
  struct Text {
    enum class Style : std::uint8_t { kPlain, kVerdict, kAlarm };

    std::string text;
    Style style = Style::kPlain;
  };

  /// Sentences. Without a heading they are lines, else an itemized list.
  struct List {
    std::string key = {};
    std::string heading = {};
    std::vector<std::string> items = {};
    bool is_warning = false;  // of what the result leaves out
  };

  /// A result that the reader should know, the most important one first.
  struct Finding {
    std::string text;                  // one sentence
    std::string more = {};             // a second one: evidence, or what to do
    std::optional<double> share = {};  // of the time that it is about, 0 to 1
  };

  struct Column {
    std::string key;     // in JSON and CSV, with the unit: "total_ns"; empty: only for people
    std::string header;  // for people
    NumberFormat format = Unit::kText;
    std::size_t max_width = 60;  // of text; longer cells end in "…", 0: no limit
    Shown shown = Shown::kEverywhere;
  };

  struct Table {
    std::string key = {};
    std::string heading = {};
    std::vector<Column> columns = {};
    std::vector<std::vector<Value>> rows = {};
    std::vector<Value> total = {};  // a last row for people
    std::string caption = {};
    std::size_t max_shown = 40;  // rows for people (0: only its name); JSON and CSV have all
    bool has_filter = false;     // on a page
    std::string fold = {};       // on a page: hidden behind this line until it is clicked
  };

  /// A picture that `draw` made; only on pages and in SVG.
  struct Picture {
    std::string heading = {};
    std::string svg = {};
    std::string caption = {};
    std::vector<draw::Series> legend = {};
    std::string fold = {};      // as of a table
    std::string perfetto = {};  // the command that makes a file for Perfetto: "orrery convert …"
  };

  /// A field of the JSON object that people do not see.
  struct Field {
    std::string key;
    Value value;
  };

  using Block = std::variant<Fact, Text, List, Finding, Table, Picture, Field>;

  struct Section {
    std::string key = {};
    std::string heading = {};
    std::vector<Block> blocks = {};
    Shown shown = Shown::kEverywhere;
    std::string_view tab = "overview";  // of `orrery view`

    Section& Add(Block block);
    /// Adds a field that only programs see.
    Section& Set(std::string_view key, Value value);
    /// Adds a field that only people see.
    Section& Show(std::string_view label, std::string text, std::string note = {});
    Section& Say(std::string text, Text::Style style = Text::Style::kPlain);
  };

  std::string title = {};  // the first line
  std::string kind = {};   // the kind of document, above the title of a page: "Orrery memory"
  std::vector<Section> sections = {};
  std::vector<std::pair<std::string, orrery::Table>> sheets = {};  // tables that only CSV has
  Value data = {};  // JSON of another shape than the sections make

  /// Adds a section; the reference is valid until the next one is added.
  Section& AddSection(std::string heading = {}, std::string key = {});
};

// Columns by what they hold; without a key they are for people only.

[[nodiscard]] inline Document::Column AsText(std::string key, std::string header,
                                             std::size_t max_width = 60) {
  return {std::move(key), std::move(header), Unit::kText, max_width};
}

[[nodiscard]] inline Document::Column AsText(std::string header) {
  return AsText("", std::move(header));
}

[[nodiscard]] inline Document::Column Formatted(std::string header, NumberFormat format) {
  return {"", std::move(header), std::move(format)};
}

#define ORRERY_COLUMN(name, unit)                                                   \
  [[nodiscard]] inline Document::Column name(std::string key, std::string header) { \
    return {std::move(key), std::move(header), unit};                               \
  }                                                                                 \
  [[nodiscard]] inline Document::Column name(std::string header) {                  \
    return {"", std::move(header), unit};                                           \
  }
ORRERY_COLUMN(AsCount, Unit::kCount)
ORRERY_COLUMN(AsNumber, Unit::kNumber)
ORRERY_COLUMN(AsBytes, Unit::kBytes)
ORRERY_COLUMN(AsDecimalBytes, Unit::kDecimalBytes)
ORRERY_COLUMN(AsTime, Unit::kNanoseconds)
ORRERY_COLUMN(AsShare, Unit::kShare)
ORRERY_COLUMN(AsRatio, Unit::kRatio)
#undef ORRERY_COLUMN

/// Returns whether a part appears in text or on a page.
[[nodiscard]] inline bool IsIn(Shown where, Shown shown) {
  return shown == Shown::kEverywhere || shown == where;
}

/// Returns the tables that are too long to be shown, by name; empty if there is none.
[[nodiscard]] std::string HiddenTablesText(const Document& document);

/// Returns the rows of a table that people see.
[[nodiscard]] std::vector<std::vector<Value>> ShownRows(const Document::Table& table);

/// Returns how many rows of a table are not shown; empty if all are.
[[nodiscard]] std::string HiddenRowsText(const Document::Table& table);

/// The layout of text for the terminal or file that it goes to.
struct TextOptions {
  std::size_t width = draw::kPageWidth;  // of lines; numbers and long words may exceed it
  bool has_color = false;
};

[[nodiscard]] std::string RenderText(const Document& document, const TextOptions& options = {});
[[nodiscard]] std::string RenderJson(const Document& document);

/// Returns one table with all its rows; without a name the first. Fails for an unknown name.
[[nodiscard]] Result<std::string> RenderCsv(const Document& document, std::string_view table = {});

/// By what a page was made; its footer.
struct MadeBy {
  std::string version = {};
  std::string date = {};
  std::string command = {};
};

/// Returns one HTML file that fetches nothing.
[[nodiscard]] std::string RenderHtml(const Document& document, const MadeBy& made_by = {});

/// Returns all pictures below each other, as one SVG file. Fails if there is none.
[[nodiscard]] Result<std::string> RenderSvg(const Document& document);

}  // namespace orrery::report
