#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tsl/robin_map.h>

#include "orrery/ingest/sqlite_database.h"
#include "orrery/trace/problems.h"

namespace orrery::ingest::rocprofv3 {

/// The tables of one process in a rocpd database: each name ends in the number of the recording
/// ("rocpd_string_0000c0de_…"), so that databases can be merged.
class RocpdTables {
 public:
  RocpdTables(const SqliteDatabase& database, std::string suffix, trace::ProblemLog& problems)
      : database_(database), suffix_(std::move(suffix)), problems_(problems) {}

  [[nodiscard]] std::string NameOf(std::string_view table) const {
    return std::string(table) + suffix_;
  }

  [[nodiscard]] bool Has(std::string_view table) const { return database_.HasTable(NameOf(table)); }

  /// Calls `visit(scan)` for each row; a damaged page ends the table with a loss.
  template <typename Visit>
  void ForEachRow(std::string_view table, const std::vector<std::string_view>& columns,
                  Visit visit) {
    TableScan scan = database_.Scan(NameOf(table), columns);
    while (scan.Next()) {
      visit(scan);
    }
    if (!scan.damage().empty()) {
      problems_.Loss("table that is damaged; the rows before the damage are kept", 1,
                     NameOf(table));
    }
  }

  [[nodiscard]] TableScan Scan(std::string_view table,
                               const std::vector<std::string_view>& columns) const {
    return database_.Scan(NameOf(table), columns);
  }

 private:
  const SqliteDatabase& database_;
  std::string suffix_;
  trace::ProblemLog& problems_;
};

/// Where something happened, in the numbers of the database; -1: not said.
struct RocpdPlace {
  std::int64_t process = -1;
  std::int64_t thread = -1;
  std::int64_t agent = -1;
  std::int64_t queue = -1;
  std::int64_t stream = -1;
};

/// A kernel as the program knows it.
struct RocpdKernel {
  std::string name;
  std::int64_t registers = -1;
};

/// What a record refers to for its call and its category.
struct RocpdEvent {
  std::int64_t correlation = -1;
  std::int64_t category = -1;
};

/// What the records of a process refer to by number.
struct RocpdLookups {
  tsl::robin_map<std::int64_t, std::string> strings;
  tsl::robin_map<std::int64_t, RocpdKernel> kernels;
  tsl::robin_map<std::int64_t, RocpdEvent> events;
  tsl::robin_map<std::int64_t, std::string> messages;  // of events: what a marker says

  // Only in schemas whose records have no times and places of their own.
  tsl::robin_map<std::int64_t, std::int64_t> times_ns;
  tsl::robin_map<std::int64_t, RocpdPlace> places;

  [[nodiscard]] std::string_view String(std::int64_t id) const;
  [[nodiscard]] RocpdEvent Event(std::int64_t id) const;
  [[nodiscard]] RocpdPlace Place(std::int64_t track) const;
  [[nodiscard]] std::optional<std::int64_t> Time(std::int64_t id) const;
};

[[nodiscard]] RocpdLookups LoadLookups(RocpdTables& tables);

}  // namespace orrery::ingest::rocprofv3
