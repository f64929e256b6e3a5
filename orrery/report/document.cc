#include "orrery/report/document.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/document/value.h"
#include "orrery/draw/format.h"

namespace orrery::report {
namespace {

// Numbers that are not whole show three digits, as bytes and durations do.
constexpr double kFewDigits = 999.5;

std::string NumberText(double value, Unit unit) {
  switch (unit) {
    case Unit::kNumber:
      return fmt::format("{:.6g}", value);
    case Unit::kBytes:
      return draw::FormatBinaryBytes({std::llround(value)});
    case Unit::kDecimalBytes:
      return draw::FormatBytes({std::llround(value)});
    case Unit::kNanoseconds:
      return draw::FormatDuration({std::llround(value)});
    case Unit::kShare:
      return fmt::format("{:.1f} %", 100 * value);
    case Unit::kRatio:
      return fmt::format("{:.2f}×", value);
    default:
      return std::abs(value) < kFewDigits ? fmt::format("{:.3g}", value)
                                          : draw::FormatCount(std::llround(value));
  }
}

std::string IntegerText(std::int64_t value, Unit unit) {
  switch (unit) {
    case Unit::kText:
    case Unit::kNumber:
      return fmt::format("{}", value);
    case Unit::kCount:
      return draw::FormatCount(value);
    case Unit::kBytes:
      return draw::FormatBinaryBytes({value});
    case Unit::kDecimalBytes:
      return draw::FormatBytes({value});
    case Unit::kNanoseconds:
      return draw::FormatDuration({value});
    case Unit::kAddress:
      return fmt::format("{:#x}", static_cast<std::uint64_t>(value));
    default:
      return NumberText(static_cast<double>(value), unit);
  }
}

std::string Formatted(double value, const NumberFormat& format) {
  return fmt::format(fmt::runtime(format.format), value * format.scale);
}

std::string RowsText(std::size_t rows) {
  return fmt::format("{} row{}", draw::FormatCount(static_cast<std::int64_t>(rows)),
                     rows == 1 ? "" : "s");
}

}  // namespace

std::string CellText(const Value& value, const NumberFormat& format) {
  if (const auto* const integer = std::get_if<std::int64_t>(&value.variant())) {
    return format.format.empty() ? IntegerText(*integer, format.unit)
                                 : Formatted(static_cast<double>(*integer), format);
  }
  if (const auto* const number = std::get_if<double>(&value.variant());
      number != nullptr && std::isfinite(*number)) {
    return format.format.empty() ? NumberText(*number, format.unit) : Formatted(*number, format);
  }
  return draw::ScalarText(value);
}

Document::Section& Document::Section::Add(Block block) {
  blocks.push_back(std::move(block));
  return *this;
}

Document::Section& Document::Section::Set(std::string_view name, Value value) {
  return Add(Field{std::string(name), std::move(value)});
}

Document::Section& Document::Section::Show(std::string_view label, std::string text,
                                           std::string note) {
  return Add(Fact{.label = std::string(label), .value = std::move(text), .note = std::move(note)});
}

Document::Section& Document::Section::Say(std::string text, Text::Style style) {
  return Add(Text{std::move(text), style});
}

Document::Section& Document::AddSection(std::string heading, std::string key) {
  return sections.emplace_back(Section{.key = std::move(key), .heading = std::move(heading)});
}

std::string HiddenTablesText(const Document& document) {
  std::string names;
  for (const Document::Section& section : document.sections) {
    for (const Document::Block& block : section.blocks) {
      const auto* const table = std::get_if<Document::Table>(&block);
      if (table != nullptr && table->max_shown == 0) {
        names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", table->key,
                             RowsText(table->rows.size()));
      }
    }
  }
  return names.empty() ? "" : fmt::format("Also in --json and --csv --table NAME: {}.", names);
}

std::vector<std::vector<Value>> ShownRows(const Document::Table& table) {
  const std::size_t shown = std::min(table.rows.size(), table.max_shown);
  std::vector<std::vector<Value>> rows(table.rows.begin(),
                                       table.rows.begin() + static_cast<std::ptrdiff_t>(shown));
  if (!table.total.empty()) {
    rows.push_back(table.total);
  }
  return rows;
}

std::string HiddenRowsText(const Document::Table& table) {
  const std::size_t hidden = table.rows.size() - std::min(table.rows.size(), table.max_shown);
  if (hidden == 0) {
    return "";
  }
  std::string text = RowsText(hidden);
  text.insert(text.find(' '), " more");
  return text + (table.key.empty() ? " in --json" : " in --json and --csv");
}

}  // namespace orrery::report
