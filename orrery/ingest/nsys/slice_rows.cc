#include "orrery/ingest/nsys/slice_rows.h"

#include <algorithm>
#include <array>
#include <vector>

#include "orrery/ingest/nsys/json_fields.h"

namespace orrery::ingest::nsys {
namespace {

constexpr std::array<std::string_view, 5> kSliceColumns{"start", "end", "globalTid", "nameId",
                                                        "overheadType"};

bool IsSliceTable(const SqliteDatabase& database, std::string_view table) {
  const std::vector<std::string> columns = database.Columns(table);
  return std::all_of(kSliceColumns.begin(), kSliceColumns.begin() + 4, [&](std::string_view name) {
    return std::find(columns.begin(), columns.end(), name) != columns.end();
  });
}

// Overhead of the profiler has Kineto's category; other slices are named after their table.
std::string_view CategoryOf(std::string_view table) {
  return table.ends_with("OVERHEAD") ? "overhead" : table;
}

void ReadSliceTable(ExportContext& context, RankSet& ranks, std::string_view table,
                    const EnumTable& overhead_types) {
  context.ForEachRow(table, kSliceColumns, [&](const TableScan& row) {
    const std::optional<Interval> time = context.ReadInterval(row, 0, 1, table);
    if (!time) {
      return;
    }
    const std::int64_t thread = row.Integer(2);
    RankBuilder& rank = ranks.ForRange(thread, *time);
    JsonFields extra;
    if (const auto type = overhead_types.find(row.Integer(4, -1)); type != overhead_types.end()) {
      extra.AddText("overhead type", type->second.label);
    }
    rank.trace.other_slices.Append({.begin_ns = time->begin_ns,
                                    .duration_ns = time->duration_ns,
                                    .name = rank.Name(row.Integer(3, -1)),
                                    .category = rank.Intern(CategoryOf(table)),
                                    .track = rank.HostTrack(thread),
                                    .extra = rank.Intern(extra.text())});
  });
}

}  // namespace

void ReadOtherSlices(ExportContext& context, RankSet& ranks) {
  const EnumTable overhead_types = context.ReadEnum("ENUM_CUPTI_OVERHEAD_TYPE");
  for (const std::string& table : context.database().tables()) {
    if (!context.tables_read().contains(table) && IsSliceTable(context.database(), table)) {
      ReadSliceTable(context, ranks, table, overhead_types);
    }
  }
}

}  // namespace orrery::ingest::nsys
