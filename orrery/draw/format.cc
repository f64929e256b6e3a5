#include "orrery/draw/format.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/document/json_text.h"
#include "orrery/base/document/value.h"
#include "orrery/base/units.h"
#include "orrery/draw/text_table.h"

namespace orrery::draw {
namespace {

struct UnitScale {
  double base = 1'000;
  std::span<const std::string_view> units;  // each is `base` of the one before
};

constexpr std::array<std::string_view, 4> kTimeUnits{"ns", "µs", "ms", "s"};
constexpr std::array<std::string_view, 7> kByteUnits{"B", "kB", "MB", "GB", "TB", "PB", "EB"};
constexpr std::array<std::string_view, 7> kBinaryUnits{"B",   "KiB", "MiB", "GiB",
                                                       "TiB", "PiB", "EiB"};
constexpr std::array<std::string_view, 7> kRateUnits{"B/s",  "kB/s", "MB/s", "GB/s",
                                                     "TB/s", "PB/s", "EB/s"};

// The limits are those at which rounding would add a digit.
std::string ThreeDigits(double value) {
  const double size = std::abs(value);
  if (size < 9.995) {
    return fmt::format("{:.2f}", value);
  }
  return size < 99.95 ? fmt::format("{:.1f}", value) : FormatCount(std::llround(value));
}

std::string FormatScaled(double value, const UnitScale& scale) {
  if (!std::isfinite(value)) {
    return "unknown";
  }
  std::size_t unit = 0;
  while (std::abs(value) >= scale.base - 0.5 && unit + 1 < scale.units.size()) {
    value /= scale.base;
    ++unit;
  }
  // The smallest unit has no parts.
  const std::string digits = unit == 0 ? FormatCount(std::llround(value)) : ThreeDigits(value);
  return fmt::format("{} {}", digits, scale.units[unit]);
}

constexpr std::string_view kEllipsis = "…";

std::size_t WidthOfCodePoint(char32_t value) {
  const bool combines = value >= 0x300 && value <= 0x36f;
  return combines ? 0 : 1;
}

constexpr std::size_t kMaxCellWidth = 60;

std::string Pad(std::size_t indent) {
  return std::string(indent, ' ');
}

void BreakLine(int depth, std::string& out) {
  if (depth >= 0) {
    out.append("\n").append(2 * static_cast<std::size_t>(depth), ' ');
  }
}

bool IsScalar(const Value& value) {
  return !value.IsObject() && !value.IsList();
}

bool IsTable(const Value& value) {
  return value.IsList() && !value.items().empty() &&
         std::ranges::all_of(value.items(), &Value::IsObject);
}

bool IsNumber(const Value& value) {
  return std::holds_alternative<std::int64_t>(value.variant()) ||
         std::holds_alternative<double>(value.variant());
}

std::string CellText(const Value& value) {
  if (IsScalar(value)) {
    return ScalarText(value);
  }
  std::string json;
  AppendJson(value, -1, json);
  return json;
}

std::vector<TextTable::Column> ColumnsOf(const Value& table) {
  std::vector<TextTable::Column> columns;
  for (const auto& [name, first] : table.items().front().fields()) {
    const bool is_number = std::ranges::all_of(table.items(), [&](const Value& row) {
      const Value* const cell = row.Find(name);
      return cell == nullptr || cell->IsNull() || IsNumber(*cell);
    });
    columns.push_back(
        {name, is_number ? TextTable::Align::kRight : TextTable::Align::kLeft, kMaxCellWidth});
  }
  return columns;
}

std::string TableText(const Value& list, std::size_t indent, std::size_t max_rows) {
  TextTable table(ColumnsOf(list));
  const std::size_t shown = std::min(max_rows, list.items().size());
  for (std::size_t row = 0; row < shown; ++row) {
    std::vector<std::string> cells;
    for (const auto& [name, unused] : list.items().front().fields()) {
      const Value* const cell = list.items()[row].Find(name);
      cells.push_back(cell == nullptr ? "" : CellText(*cell));
    }
    table.AddRow(std::move(cells));
  }
  std::string text = Indented(table.Render(), indent);
  if (shown < list.items().size()) {
    text += fmt::format("{}… {} more (--json has all)\n", Pad(indent), list.items().size() - shown);
  }
  return text;
}

std::string FieldText(const std::string& name, const Value& value, std::size_t indent,
                      std::size_t max_rows) {
  if (IsTable(value)) {
    return fmt::format("{}{}\n{}", Pad(indent), name, TableText(value, indent + 2, max_rows));
  }
  if (value.IsObject() && !value.fields().empty()) {
    return fmt::format("{}{}\n{}", Pad(indent), name, ValueText(value, indent + 2, max_rows));
  }
  return fmt::format("{}{}: {}\n", Pad(indent), name, CellText(value));
}

}  // namespace

std::string FormatCount(std::int64_t count) {
  std::string digits = fmt::format("{}", count);
  const std::size_t first = count < 0 ? 1 : 0;
  for (std::size_t end = digits.size(); end > first + 3; end -= 3) {
    digits.insert(end - 3, 1, ',');
  }
  return digits;
}

std::string FormatDuration(Duration duration) {
  return FormatScaled(static_cast<double>(duration.nanoseconds),
                      {.base = 1'000, .units = kTimeUnits});
}

std::string FormatBytes(Bytes size) {
  return FormatScaled(static_cast<double>(size.count), {.base = 1'000, .units = kByteUnits});
}

std::string FormatBinaryBytes(Bytes size) {
  return FormatScaled(static_cast<double>(size.count), {.base = 1'024, .units = kBinaryUnits});
}

std::string FormatBandwidth(Bandwidth rate) {
  return FormatScaled(rate.bytes_per_second, {.base = 1'000, .units = kRateUnits});
}

std::size_t DisplayWidth(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const CodePoint first = FirstCodePoint(text);
    width += WidthOfCodePoint(first.value);
    text.remove_prefix(first.num_bytes);
  }
  return width;
}

std::string Truncated(std::string_view text, std::size_t width) {
  if (DisplayWidth(text) <= width) {
    return std::string(text);
  }
  if (width == 0) {
    return {};
  }
  std::size_t used = 0;
  std::size_t end = 0;
  while (true) {
    const CodePoint next = FirstCodePoint(text.substr(end));
    used += WidthOfCodePoint(next.value);
    if (used > width - 1) {
      return std::string(text.substr(0, end)) + std::string(kEllipsis);
    }
    end += next.num_bytes;
  }
}

std::string Indented(std::string_view lines, std::size_t indent) {
  std::string result;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size() - 1) + 1;
    result.append(lines.front() == '\n' ? 0 : indent, ' ').append(lines.substr(0, end));
    lines.remove_prefix(end);
  }
  return result;
}

JsonItems::JsonItems(char open, int depth, std::string& out)
    : open_(open), depth_(depth), out_(out) {
  out_ += open;
}

JsonItems::~JsonItems() {
  if (!is_empty_) {
    BreakLine(depth_, out_);
  }
  out_ += open_ == '{' ? '}' : ']';
}

void JsonItems::Next() {
  out_ += std::exchange(is_empty_, false) ? "" : ",";
  BreakLine(depth(), out_);
}

void JsonItems::Key(std::string_view name) {
  Next();
  out_ += QuoteJson(name);
  out_ += depth_ < 0 ? ":" : ": ";
}

void AppendJson(const Value& value, int depth, std::string& out) {
  std::visit(
      [&]<typename T>(const T& held) {
        if constexpr (std::is_same_v<T, std::monostate>) {
          out += "null";
        } else if constexpr (std::is_same_v<T, std::string>) {
          out += QuoteJson(held);
        } else if constexpr (std::is_same_v<T, Value::Items>) {
          JsonItems items('[', depth, out);
          for (const Value& item : held) {
            items.Next();
            AppendJson(item, items.depth(), out);
          }
        } else if constexpr (std::is_same_v<T, Value::Fields>) {
          JsonItems items('{', depth, out);
          for (const auto& [name, field] : held) {
            items.Key(name);
            AppendJson(field, items.depth(), out);
          }
        } else {
          const bool is_known = !std::is_same_v<T, double> || std::isfinite(held);
          out += is_known ? fmt::format("{}", held) : "null";
        }
      },
      value.variant());
}

std::string JsonText(const Value& value) {
  std::string out;
  AppendJson(value, 0, out);
  return out + "\n";
}

std::string ScalarText(const Value& value) {
  if (const auto* const number = std::get_if<double>(&value.variant())) {
    return std::isfinite(*number) ? fmt::format("{:.6g}", *number) : "–";
  }
  if (const auto* const integer = std::get_if<std::int64_t>(&value.variant())) {
    return fmt::format("{}", *integer);
  }
  if (const auto* const text = std::get_if<std::string>(&value.variant())) {
    return *text;
  }
  if (const auto* const yes = std::get_if<bool>(&value.variant())) {
    return *yes ? "yes" : "no";
  }
  return "–";
}

std::string ValueText(const Value& value, std::size_t indent, std::size_t max_rows) {
  if (IsTable(value)) {
    return TableText(value, indent, max_rows);
  }
  if (!value.IsObject()) {
    return fmt::format("{}{}\n", Pad(indent), CellText(value));
  }
  std::string text;
  for (const auto& [name, field] : value.fields()) {
    text += FieldText(name, field, indent, max_rows);
  }
  return text;
}

}  // namespace orrery::draw
