#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/document/value.h"
#include "orrery/base/units.h"

namespace orrery::draw {

// Numbers for people. Scaled values have three digits and the unit that keeps them below 1,000.

/// Returns "1,234,567".
[[nodiscard]] std::string FormatCount(std::int64_t count);

/// Returns "512 ns", "12.3 ms", "1.50 s", "7,200 s".
[[nodiscard]] std::string FormatDuration(Duration duration);

/// Returns "512 B", "4.20 GB": powers of 1,000.
[[nodiscard]] std::string FormatBytes(Bytes size);

/// Returns "512 B", "4.20 GiB": powers of 1,024.
[[nodiscard]] std::string FormatBinaryBytes(Bytes size);

/// Returns "4.20 GB/s": powers of 1,000.
[[nodiscard]] std::string FormatBandwidth(Bandwidth rate);

/// Returns how many columns of a terminal `text` takes: one a character (combining marks none).
[[nodiscard]] std::size_t DisplayWidth(std::string_view text);

/// Returns `text`, or its beginning and "…" if it is wider than `width` columns.
[[nodiscard]] std::string Truncated(std::string_view text, std::size_t width);

/// Returns the lines with `indent` blanks in front of each.
[[nodiscard]] std::string Indented(std::string_view lines, std::size_t indent);

/// An object or a list of a JSON document, written item by item; it ends with the scope. `depth` is
/// that of its brackets: items stand two blanks deeper, each on its line; below zero all is on one.
class JsonItems {
 public:
  JsonItems(char open, int depth, std::string& out);
  JsonItems(const JsonItems&) = delete;
  JsonItems& operator=(const JsonItems&) = delete;
  ~JsonItems();

  /// The depth of its items.
  [[nodiscard]] int depth() const { return depth_ < 0 ? depth_ : depth_ + 1; }

  /// Begins an item of a list.
  void Next();

  /// Begins a field of an object.
  void Key(std::string_view name);

 private:
  char open_;
  int depth_;
  std::string& out_;
  bool is_empty_ = true;
};

/// Appends a value as JSON. Numbers have the fewest digits that read back as the same value; what
/// is not finite becomes null.
void AppendJson(const Value& value, int depth, std::string& out);

/// Returns a value as a JSON document.
[[nodiscard]] std::string JsonText(const Value& value);

/// Shows a value to people: scalars one a line, lists of objects as tables of at most `max_rows`
/// rows, all indented by `indent` spaces.
[[nodiscard]] std::string ValueText(const Value& value, std::size_t indent, std::size_t max_rows);

/// Shows a scalar: numbers with six digits, nothing as "–".
[[nodiscard]] std::string ScalarText(const Value& value);

}  // namespace orrery::draw
