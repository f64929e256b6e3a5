#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>

#include <fmt/core.h>

#include "orrery/base/table.h"
#include "orrery/cli/info/output.h"
#include "orrery/draw/number_format.h"
#include "orrery/draw/text_table.h"
#include "orrery/ingest/format.h"

namespace orrery::cli {
namespace {

enum class Spread { kNothing, kOneValue, kVaries };

Spread SpreadOf(const Table& table, std::size_t column) {
  Spread spread = Spread::kNothing;
  for (std::size_t row = 0; row < table.num_rows(); ++row) {
    if (table.At(row, column) != table.At(0, column)) {
      return Spread::kVaries;
    }
    if (!std::holds_alternative<std::monostate>(table.At(row, column))) {
      spread = Spread::kOneValue;
    }
  }
  return spread;
}

std::string CellText(const Table::Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) {
    return *text;
  }
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) {
    return std::to_string(*integer);
  }
  const auto* number = std::get_if<double>(&cell);
  return number == nullptr ? std::string() : fmt::format("{}", *number);
}

void CopyColumn(const Table& from, std::size_t column, Table& into) {
  const std::size_t copy = into.AddColumn(from.column_name(column), from.column_type(column));
  for (std::size_t row = 0; row < from.num_rows(); ++row) {
    into.Set(row, copy, from.At(row, column));
  }
}

}  // namespace

// Columns with one value for the whole run are said once; a log has many of them.
std::string MeasurementText(const ingest::MeasurementTable& measured) {
  const Table& all = measured.rows;
  Table varying;
  for (std::size_t row = 0; row < all.num_rows(); ++row) {
    varying.AddRow();
  }
  std::string facts;
  for (std::size_t column = 0; column < all.num_columns(); ++column) {
    const Spread spread = SpreadOf(all, column);
    if (spread == Spread::kVaries) {
      CopyColumn(all, column, varying);
    } else if (spread == Spread::kOneValue) {
      facts += fmt::format("{}{} {}", facts.empty() ? "" : " · ", all.column_name(column),
                           CellText(all.At(0, column)));
    }
  }
  const std::string title =
      fmt::format("{}: {}, {} rows\n{}", measured.file, measured.format,
                  draw::FormatCount(static_cast<std::int64_t>(all.num_rows())),
                  facts.empty() ? facts : facts + "\n");
  if (varying.num_columns() == 0) {
    return title;
  }
  return fmt::format("{}\n{}", title, draw::ToTextTable(varying).Render());
}

}  // namespace orrery::cli
