#include "orrery/ingest/nsys/export_context.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "orrery/base/lookup.h"
#include "orrery/ingest/sqlite_database.h"
#include "orrery/trace/enums.h"

namespace orrery::ingest::nsys {
namespace {

// 73 years on either side, so that sums of two times cannot overflow; epoch times of today are at
// 1.8e18.
constexpr std::int64_t kMaxTimeNs = 1'000'000'000LL * 86'400 * 366 * 73;

bool IsPlausible(std::int64_t time_ns) {
  return time_ns >= -kMaxTimeNs && time_ns <= kMaxTimeNs;
}

}  // namespace

ExportContext::ExportContext(const SqliteDatabase& opened) : database(opened) {
  ForEachRow("StringIds", {"id", "value"}, [&](TableScan& row) {
    const std::string_view text = row.Text(1);
    strings_[row.Integer(0, -1)] = {characters_.size(), text.size()};
    characters_ += text;
  });
  ForEachRow("PROCESSES", {"globalPid", "name"},
             [&](TableScan& row) { process_names_[ProcessOf(row.Integer(0))] = row.Text(1); });
  ForEachRow("ThreadNames", {"globalTid", "nameId"},
             [&](TableScan& row) { thread_name_ids_[row.Integer(0)] = row.Integer(1, -1); });
  LoadTimeBase();
}

void ExportContext::LoadTimeBase() {
  bool is_normalized = false;
  std::int64_t shift_ns = 0;
  ForEachRow("META_DATA_EXPORT", {"name", "value"}, [&](TableScan& row) {
    const std::string_view name = row.Text(0);
    if (name == "EXPORT_PARAM_TIME_NORMALIZE") {
      is_normalized = row.Text(1) == "true" || row.Integer(1) == 1;
    } else if (name == "EXPORT_PARAM_TIME_SHIFT") {
      shift_ns = row.Integer(1);
    }
  });
  std::int64_t epoch_ns = -1;
  ForEachRow("TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"},
             [&](TableScan& row) { epoch_ns = row.Integer(0, -1); });
  if (!IsPlausible(shift_ns) || !IsPlausible(epoch_ns)) {
    problems.Note(
        "implausible time shift or session start; times count from the recording's start");
    return;
  }
  if (is_normalized) {
    time_base = {.offset_ns = 0, .origin = trace::TimeOrigin::kEpoch};
  } else if (epoch_ns > 0) {
    time_base = {.offset_ns = epoch_ns - shift_ns, .origin = trace::TimeOrigin::kEpoch};
  } else {
    time_base.offset_ns = -shift_ns;
  }
}

std::string_view ExportContext::String(std::int64_t id) const {
  const Slice slice = FindOr(strings_, id);
  return std::string_view(characters_).substr(slice.begin, slice.size);
}

EnumTable ExportContext::ReadEnum(std::string_view table) {
  EnumTable entries;
  ForEachRow(table, {"id", "name", "label"}, [&](TableScan& row) {
    entries[row.Integer(0, -1)] = {std::string(row.Text(1)), std::string(row.Text(2))};
  });
  return entries;
}

std::optional<std::int64_t> ExportContext::ReadTime(const TableScan& row, std::size_t column,
                                                    std::string_view table) {
  const std::int64_t time_ns = row.Integer(column, kMaxTimeNs + 1);
  if (!IsPlausible(time_ns)) {
    problems.Loss("row without a usable time", 1, table);
    return std::nullopt;
  }
  return time_ns + time_base.offset_ns;
}

std::optional<Interval> ExportContext::ReadInterval(const TableScan& row, std::size_t start,
                                                    std::size_t end, std::string_view table) {
  const std::optional<std::int64_t> begin_ns = ReadTime(row, start, table);
  if (!begin_ns) {
    return std::nullopt;
  }
  const std::int64_t stored_end_ns = row.Integer(end, kMaxTimeNs + 1);
  if (!IsPlausible(stored_end_ns)) {
    problems.Note("row without an end; taken as an instant", 1, table);
    return Interval{.begin_ns = *begin_ns, .duration_ns = 0};
  }
  const std::int64_t duration_ns = stored_end_ns + time_base.offset_ns - *begin_ns;
  if (duration_ns < 0) {
    problems.Note("row that ends before it begins; taken as an instant", 1, table);
  }
  return Interval{.begin_ns = *begin_ns, .duration_ns = std::max<std::int64_t>(duration_ns, 0)};
}

void ExportContext::FinishScan(std::string_view table, const TableScan& scan) {
  tables_read.emplace(table);
  if (!scan.damage().empty()) {
    damage.Loss(fmt::format("table {} is damaged; the rows before the damage are kept", table), 1,
                scan.damage());
  }
}

}  // namespace orrery::ingest::nsys
