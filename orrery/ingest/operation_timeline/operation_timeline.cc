#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <tl/expected.hpp>

#include "orrery/base/error.h"
#include "orrery/base/file/byte_source.h"
#include "orrery/base/text/decimal.h"
#include "orrery/base/text/parse_number.h"
#include "orrery/base/text/table.h"
#include "orrery/ingest/csv_rows.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/registry.h"

namespace orrery::ingest::operation_timeline {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
constexpr std::size_t kShownBytes = 40;  // of a field that cannot be used

// A column of whole numbers. Only those that name an operation must be there.
struct NumberColumn {
  std::string_view name;
  std::int64_t least;
  bool is_required;
};

constexpr auto kNumbers = std::to_array<NumberColumn>({{"dp_rank", 0, true},
                                                       {"stage", 0, true},
                                                       {"rank", 0, true},
                                                       {"step", 0, true},
                                                       {"seq_id", 0, true},
                                                       {"mc", -1, false},
                                                       {"mb_id", -1, false},
                                                       {"gmc", -1, false}});
constexpr std::string_view kType = "optype";
constexpr std::string_view kStart = "start_ts";
constexpr std::string_view kDuration = "duration";

bool HasColumns(const CsvRows& rows) {
  return rows.HasColumn(kType) && rows.HasColumn(kStart) && rows.HasColumn(kDuration) &&
         std::ranges::all_of(kNumbers, [&](const NumberColumn& column) {
           return !column.is_required || rows.HasColumn(column.name);
         });
}

bool Matches(const InputFile& file) {
  const std::string_view head = file.head();
  const std::unique_ptr<ByteSource> source = OpenMemory(head.substr(0, head.find('\n')));
  CsvRows rows(*source);
  const Result<bool> has_header = rows.ReadHeader();
  return has_header && *has_header && HasColumns(rows);
}

std::string BadField(const CsvRows& rows, std::string_view column, std::string_view needed) {
  return fmt::format("line {}: {} is '{}', but must be {}", rows.line(), column,
                     rows.Text(column).substr(0, kShownBytes), needed);
}

Result<Table::Cell> NumberCell(const CsvRows& rows, const NumberColumn& column) {
  if (!rows.HasColumn(column.name)) {
    return Table::Cell();
  }
  const auto number = ParseWhole<std::int64_t>(rows.Text(column.name));
  if (!number || *number < column.least || *number > kMost) {
    return Invalid(BadField(
        rows, column.name, column.least == 0 ? "a whole number from 0" : "a whole number from -1"));
  }
  return Table::Cell(*number);
}

Result<std::vector<Table::Cell>> ReadRow(const CsvRows& rows) {
  std::vector<Table::Cell> cells;
  for (const NumberColumn& column : kNumbers) {
    ORRERY_TRY(cells.emplace_back(), NumberCell(rows, column));
  }
  if (rows.Text(kType).empty()) {
    return Invalid(BadField(rows, kType, "the type of an operation"));
  }
  cells.emplace_back(std::string(rows.Text(kType)));
  for (const std::string_view column : {kStart, kDuration}) {
    const auto time_ns = ParseSecondsAsNs(rows.Text(column));
    if (!time_ns || *time_ns < 0) {
      return Invalid(BadField(rows, column, "a number of seconds from 0"));
    }
    cells.emplace_back(*time_ns);
  }
  return cells;
}

Table EmptyTable() {
  Table table;
  for (const NumberColumn& column : kNumbers) {
    table.AddColumn(std::string(column.name), Table::Type::kInteger);
  }
  table.AddColumn(std::string(kType), Table::Type::kText);
  table.AddColumn("start_ns", Table::Type::kInteger);
  table.AddColumn("duration_ns", Table::Type::kInteger);
  return table;
}

// A row that cannot be used is an error, not a loss: without one operation the others cannot be
// replayed.
Result<FileContent> Read(const InputFile& file, const ReadOptions& /*options*/) {
  MeasurementTable table{.format = "operation timeline", .file = file.path()};
  table.rows = EmptyTable();
  ORRERY_TRY(const auto source, file.OpenContent());
  CsvRows rows(*source);
  ORRERY_TRY(const bool has_header, rows.ReadHeader());
  if (!has_header || !HasColumns(rows)) {
    return Invalid(
        "the header must name dp_rank, stage, rank, step, seq_id, optype, start_ts and duration");
  }
  while (true) {
    ORRERY_TRY(const bool has_row, rows.Next());
    if (!has_row) {
      break;
    }
    Result<std::vector<Table::Cell>> cells = ReadRow(rows);
    if (!cells && source->damage().empty()) {
      return tl::unexpected(std::move(cells).error());
    }
    if (!cells) {
      break;
    }
    table.rows.AddRow(*std::move(cells));
  }
  if (const std::string damage = source->damage(); !damage.empty()) {
    return Invalid("{}; copy the file again", damage);
  }
  return ContentOf(std::move(table), "a timeline of operations without an operation");
}

}  // namespace

// Operations of training steps on recorded workers as comma-separated values, one line each:
// dp_rank, stage, rank, step, optype, start_ts and duration (seconds, the start counted from the
// step's), seq_id (order among the operations of its type on this worker in this step); mc, mb_id
// and gmc where they are there. Gives a table of the same columns with times in nanoseconds. See
// docs/formats/operation-timeline.md.
constinit const Format kFormat{.name = "operation timeline", .matches = Matches, .read = Read};

}  // namespace orrery::ingest::operation_timeline
