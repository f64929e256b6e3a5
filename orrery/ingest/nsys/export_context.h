#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <tsl/robin_map.h>

#include "orrery/base/lookup.h"
#include "orrery/ingest/sqlite_database.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/problems.h"

namespace orrery::ingest::nsys {

/// A process of the export: virtual machine and process number, as `globalPid` and `globalTid` hold
/// them above their lowest 24 bits.
using ProcessKey = std::int64_t;

/// Stands for the process of rows that do not name one.
inline constexpr ProcessKey kUnknownProcess = std::numeric_limits<ProcessKey>::min();

[[nodiscard]] constexpr ProcessKey ProcessOf(std::int64_t global_id) {
  return global_id >> 24;
}

[[nodiscard]] constexpr std::int64_t ProcessNumber(ProcessKey process) {
  return process == kUnknownProcess ? 0 : process & 0xFFFFFF;
}

[[nodiscard]] constexpr std::int64_t ThreadNumber(std::int64_t global_tid) {
  return global_tid & 0xFFFFFF;
}

/// A row of an `ENUM_*` table: "CUDA_MEMCPY_KIND_HTOD" and "Host-to-Device".
struct EnumEntry {
  std::string name;
  std::string label;
};

using EnumTable = std::map<std::int64_t, EnumEntry>;

struct Interval {
  std::int64_t begin_ns = 0;
  std::int64_t duration_ns = 0;

  [[nodiscard]] std::int64_t end_ns() const { return begin_ns + duration_ns; }
};

/// Conversion of the times of an export to those of a trace.
///
/// They count from the start of the recording. With TARGET_INFO_SESSION_START_TIME.utcEpochNs the
/// time is utcEpochNs + t - EXPORT_PARAM_TIME_SHIFT; with EXPORT_PARAM_TIME_NORMALIZE t is UTC
/// already; else t - EXPORT_PARAM_TIME_SHIFT counts from the start of the recording.
struct TimeBase {
  std::int64_t offset_ns = 0;
  trace::TimeOrigin origin = trace::TimeOrigin::kRecordingStart;
};

/// State shared by all readers of an export: the database, its strings and names, the time base and
/// problems.
class ExportContext {
 public:
  /// Reads StringIds, the names of processes and threads, and the time base.
  explicit ExportContext(const SqliteDatabase& opened);

  /// The text of a row of StringIds; empty if there is none.
  [[nodiscard]] std::string_view String(std::int64_t id) const;

  [[nodiscard]] std::string ProcessName(ProcessKey process) const {
    return FindOr(process_names_, process);
  }

  [[nodiscard]] std::string_view ThreadName(std::int64_t global_tid) const {
    return String(FindOr(thread_name_ids_, global_tid, std::int64_t{-1}));
  }

  [[nodiscard]] EnumTable ReadEnum(std::string_view table);

  /// Reads a time; nothing (and a problem) if the row has none or an implausible one.
  std::optional<std::int64_t> ReadTime(const TableScan& row, std::size_t column,
                                       std::string_view table);

  /// Reads begin and end. An end that is missing or before the begin gives the duration 0 and a
  /// problem.
  std::optional<Interval> ReadInterval(const TableScan& row, std::size_t start, std::size_t end,
                                       std::string_view table);

  /// Calls `visit(row)` for each row of `table` and notes damage.
  template <typename Visit>
  void ForEachRow(std::string_view table, const std::vector<std::string_view>& columns,
                  Visit&& visit) {
    TableScan scan = database.Scan(table, columns);
    while (scan.Next()) {
      visit(scan);
    }
    FinishScan(table, scan);
  }

  const SqliteDatabase& database;
  TimeBase time_base;
  std::set<std::string, std::less<>> tables_read;
  trace::ProblemLog damage;    // concerns every rank
  trace::ProblemLog problems;  // of rows whose rank is not known

 private:
  void FinishScan(std::string_view table, const TableScan& scan);
  void LoadTimeBase();

  std::string characters_;

  struct Slice {
    std::size_t begin = 0;
    std::size_t size = 0;
  };

  tsl::robin_map<std::int64_t, Slice> strings_;
  std::map<ProcessKey, std::string> process_names_;
  tsl::robin_map<std::int64_t, std::int64_t> thread_name_ids_;
};

}  // namespace orrery::ingest::nsys
