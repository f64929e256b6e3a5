#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <tsl/robin_map.h>

#include "orrery/base/document/json_value.h"
#include "orrery/base/error.h"
#include "orrery/base/lookup.h"
#include "orrery/base/text/parse_number.h"
#include "orrery/ingest/rocprofv3/process.h"
#include "orrery/ingest/sqlite_database.h"
#include "orrery/trace/problems.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::rocprofv3 {
namespace {

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
      problems_.Loss("damaged table; the rows before the damage are kept", 1, NameOf(table));
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

// The location of an event, in the database's numbers; -1: unknown.
struct RocpdPlace {
  std::int64_t process = -1;
  std::int64_t thread = -1;
  std::int64_t agent = -1;
  std::int64_t queue = -1;
  std::int64_t stream = -1;
};

/// A kernel symbol.
struct RocpdKernel {
  std::string name;
  std::int64_t registers = -1;
};

/// Correlation and category of an event.
struct RocpdEvent {
  std::int64_t correlation = -1;
  std::int64_t category = -1;
};

/// Tables that the records of a process refer to by id.
struct RocpdLookups {
  tsl::robin_map<std::int64_t, std::string> strings;
  tsl::robin_map<std::int64_t, RocpdKernel> kernels;
  tsl::robin_map<std::int64_t, RocpdEvent> events;
  tsl::robin_map<std::int64_t, std::string> messages;  // of events: what a marker says

  // Only in schemas whose records have no times and places of their own.
  tsl::robin_map<std::int64_t, std::optional<std::int64_t>> times_ns;
  tsl::robin_map<std::int64_t, RocpdPlace> places;
};

// The text of a column, or where it is empty that of another.
std::string FirstText(TableScan& row, std::size_t column, std::size_t other) {
  std::string text(row.Text(column));
  return text.empty() ? std::string(row.Text(other)) : text;
}

RocpdLookups LoadLookups(RocpdTables& tables) {
  RocpdLookups lookups;
  tables.ForEachRow("rocpd_string", {"id", "string"}, [&](TableScan& row) {
    lookups.strings[row.Integer(0, -1)] = std::string(row.Text(1));
  });
  tables.ForEachRow("rocpd_timestamp", {"id", "value"}, [&](TableScan& row) {
    lookups.times_ns[row.Integer(0, -1)] = row.Integer(1, -1);
  });
  tables.ForEachRow("rocpd_info_kernel_symbol",
                    {"id", "display_name", "kernel_name", "arch_vgpr_count"}, [&](TableScan& row) {
                      lookups.kernels[row.Integer(0, -1)] = {.name = FirstText(row, 1, 2),
                                                             .registers = row.Integer(3, -1)};
                    });
  // Only markers have a message; other calls are named by their function.
  JsonText json;
  tables.ForEachRow(
      "rocpd_event", {"id", "category_id", "stack_id", "extdata"}, [&](TableScan& row) {
        const std::int64_t id = row.Integer(0, -1);
        lookups.events[id] = {.correlation = row.Integer(2, -1), .category = row.Integer(1, -1)};
        const std::string_view extra = row.Text(3);
        if (extra.empty() || extra == "{}") {
          return;
        }
        if (const auto message = Text(Field(json.Parse(extra), "message"))) {
          lookups.messages[id] = std::string(*message);
        }
      });
  tables.ForEachRow("rocpd_track", {"id", "pid", "tid", "agent_id", "queue_id", "stream_id"},
                    [&](TableScan& row) {
                      lookups.places[row.Integer(0, -1)] = {.process = row.Integer(1, -1),
                                                            .thread = row.Integer(2, -1),
                                                            .agent = row.Integer(3, -1),
                                                            .queue = row.Integer(4, -1),
                                                            .stream = row.Integer(5, -1)};
                    });
  return lookups;
}

constexpr std::string_view kFix = "\"rocpd convert -f csv\" writes tables that Orrery reads";
constexpr std::array<std::string_view, 4> kRecordTables{
    "rocpd_kernel_dispatch", "rocpd_memory_copy", "rocpd_memory_allocate", "rocpd_region"};

// In front of the columns of each table of records. Schema 3 has times and places in the row, its
// successors refer to tables of them.
enum CommonColumn : std::size_t {
  kStart,
  kEnd,
  kStartId,
  kEndId,
  kTrack,
  kProcess,
  kThread,
  kAgent,
  kQueue,
  kStream,
  kEvent,
  kNumCommonColumns,
};

constexpr std::array<std::string_view, kNumCommonColumns> kCommonColumns{
    "start", "end",      "start_id", "end_id",    "track_id", "pid",
    "tid",   "agent_id", "queue_id", "stream_id", "event_id"};

// Properties of all records, for any schema.
struct Record {
  TimeSpan time;
  RocpdPlace place;
  std::int64_t event = -1;

  [[nodiscard]] std::int64_t stream() const {
    return place.stream >= 0 ? place.stream : place.queue;
  }
};

class ProcessReader {
 public:
  ProcessReader(const SqliteDatabase& database, const std::string& suffix, trace::Trace& trace)
      : tables_(database, suffix, trace.problems), trace_(trace), rows_(trace) {}

  Status Read() {
    ReadInfo();
    ReadAgents();
    lookups_ = LoadLookups(tables_);
    ORRERY_TRY_STATUS(ReadKernels());
    ORRERY_TRY_STATUS(ReadCopies());
    ORRERY_TRY_STATUS(ReadAllocations());
    ORRERY_TRY_STATUS(ReadCalls());
    for (const std::string_view left : {"rocpd_pmc_event", "rocpd_sample"}) {
      std::int64_t count = 0;
      tables_.ForEachRow(left, {}, [&](TableScan&) { ++count; });
      trace_.problems.Note("record of a kind that is not imported", count, left);
    }
    rows_.Finish();
    return {};
  }

 private:
  void ReadInfo() {
    tables_.ForEachRow("rocpd_metadata", {"tag", "value"}, [&](TableScan& row) {
      if (row.Text(0) == "schema_version") {
        trace_.info.format_version = std::string(row.Text(1));
      }
    });
    tables_.ForEachRow("rocpd_info_node", {"hostname"},
                       [&](TableScan& row) { trace_.info.host_name = std::string(row.Text(0)); });
    tables_.ForEachRow("rocpd_info_process", {"pid", "command"}, [&](TableScan& row) {
      AddMetadata("process", std::to_string(row.Integer(0)));
      AddMetadata("command", row.Text(1));
    });
  }

  void AddMetadata(std::string_view key, std::string_view value) {
    if (!value.empty()) {
      trace_.metadata.Append(
          {.key = trace_.strings.Intern(key), .value = trace_.strings.Intern(value)});
    }
  }

  void ReadAgents() {
    enum : std::size_t { kId, kType, kNumber, kProduct, kName };

    tables_.ForEachRow("rocpd_info_agent", {"id", "type", "logical_index", "product_name", "name"},
                       [&](TableScan& row) {
                         const std::int64_t id = row.Integer(kId, -1);
                         const std::int32_t number = row.SmallInteger(kNumber, SmallOrUnknown(id));
                         number_of_agent_[id] = number;
                         const bool is_gpu = row.Text(kType) == "GPU";
                         const std::string name = FirstText(row, kProduct, kName);
                         rows_.Add(Agent{.number = number, .is_gpu = is_gpu, .name = name});
                       });
  }

  std::int32_t AgentNumber(std::int64_t id) const { return FindOr(number_of_agent_, id, -1); }

  // Calls `visit(row, record)`; columns of the table's own are numbered from kNumCommonColumns.
  template <typename Visit>
  Status ForEachRecord(std::string_view table, std::vector<std::string_view> own, Visit visit) {
    std::vector<std::string_view> columns(kCommonColumns.begin(), kCommonColumns.end());
    columns.insert(columns.end(), own.begin(), own.end());
    if (tables_.Has(table)) {
      ORRERY_TRY_STATUS(CheckTimes(table, tables_.Scan(table, columns)));
    }
    tables_.ForEachRow(table, columns, [&](TableScan& row) {
      if (const auto record = RecordOf(row)) {
        visit(row, *record);
      } else {
        trace_.problems.Loss("record without a usable time", 1, tables_.NameOf(table));
      }
    });
    return {};
  }

  Status CheckTimes(std::string_view table, const TableScan& scan) const {
    const bool has_times = scan.has_column(kStart) && scan.has_column(kEnd);
    const bool has_numbers = scan.has_column(kStartId) && scan.has_column(kEndId);
    if (has_times || (has_numbers && tables_.Has("rocpd_timestamp"))) {
      return {};
    }
    return Fail(Error::Kind::kUnsupported,
                fmt::format("table {}: neither times (start, end) nor numbers of times (start_id, "
                            "end_id with a table rocpd_timestamp); {}",
                            tables_.NameOf(table), kFix));
  }

  std::optional<Record> RecordOf(const TableScan& row) const {
    const auto time_at = [&](std::size_t own, std::size_t number) {
      return row.IsMissing(own) ? FindOr(lookups_.times_ns, row.Integer(number, -1))
                                : std::optional(row.Integer(own, -1));
    };
    const std::int64_t event = row.Integer(kEvent, -1);
    const auto time = MakeTimeSpan(time_at(kStart, kStartId), time_at(kEnd, kEndId),
                                   FindOr(lookups_.events, event).correlation);
    if (!time) {
      return std::nullopt;
    }
    return Record{.time = *time, .place = PlaceOf(row), .event = event};
  }

  RocpdPlace PlaceOf(const TableScan& row) const {
    const RocpdPlace track = FindOr(lookups_.places, row.Integer(kTrack, -1));
    return {.process = row.Integer(kProcess, track.process),
            .thread = row.Integer(kThread, track.thread),
            .agent = row.Integer(kAgent, track.agent),
            .queue = row.Integer(kQueue, track.queue),
            .stream = row.Integer(kStream, track.stream)};
  }

  Status ReadKernels() {
    enum : std::size_t { kKernel = kNumCommonColumns, kLds, kWorkgroup, kGrid = kWorkgroup + 3 };

    return ForEachRecord("rocpd_kernel_dispatch",
                         {"kernel_id", "group_segment_size", "workgroup_size_x", "workgroup_size_y",
                          "workgroup_size_z", "grid_size_x", "grid_size_y", "grid_size_z"},
                         [&](TableScan& row, const Record& record) {
                           const auto sizes = [&](std::size_t first) {
                             return std::array<std::int64_t, 3>{row.Integer(first, -1),
                                                                row.Integer(first + 1, -1),
                                                                row.Integer(first + 2, -1)};
                           };
                           const RocpdKernel kernel = KernelOf(row.Integer(kKernel, -1));
                           rows_.Add(Dispatch{.time = record.time,
                                              .agent = AgentNumber(record.place.agent),
                                              .stream = record.stream(),
                                              .name = kernel.name,
                                              .work_items = sizes(kGrid),
                                              .workgroup = sizes(kWorkgroup),
                                              .registers = kernel.registers,
                                              .shared_bytes = row.Integer(kLds, -1)});
                         });
  }

  std::string_view String(std::int64_t id) const {
    const auto found = lookups_.strings.find(id);
    return found == lookups_.strings.end() ? std::string_view() : found->second;
  }

  RocpdKernel KernelOf(std::int64_t id) {
    const auto known = lookups_.kernels.find(id);
    if (known != lookups_.kernels.end()) {
      return known->second;
    }
    trace_.problems.Loss("kernel whose name is not in the file");
    return {.name = fmt::format("kernel {}", id)};
  }

  Status ReadCopies() {
    enum : std::size_t { kName = kNumCommonColumns, kSource, kDestination, kBytes };

    return ForEachRecord("rocpd_memory_copy", {"name_id", "src_agent_id", "dst_agent_id", "size"},
                         [&](TableScan& row, const Record& record) {
                           rows_.Add(Copy{.time = record.time,
                                          .direction = String(row.Integer(kName, -1)),
                                          .source = AgentNumber(row.Integer(kSource, -1)),
                                          .destination = AgentNumber(row.Integer(kDestination, -1)),
                                          .stream = std::max<std::int64_t>(record.stream(), 0),
                                          .bytes = row.Integer(kBytes, -1)});
                         });
  }

  Status ReadAllocations() {
    enum : std::size_t { kType = kNumCommonColumns, kLevel, kAddress, kBytes };

    return ForEachRecord(
        "rocpd_memory_allocate", {"type", "level", "address", "size"},
        [&](TableScan& row, const Record& record) {
          const std::string type(row.Text(kType));
          const std::string_view level = row.Text(kLevel);
          // As the CSV and JSON forms name it.
          const std::string operation =
              fmt::format("MEMORY_ALLOCATION_{}{}", level == "VIRTUAL" ? "VMEM_" : "",
                          type == "ALLOC" ? "ALLOCATE" : type);
          if (level == "SCRATCH") {
            trace_.problems.Note("record of a kind that is not imported", 1, "scratch memory");
            return;
          }
          const std::int64_t address = row.Integer(kAddress, -1);
          if (address < 0) {
            trace_.problems.Loss("allocation without a usable address");
            return;
          }
          rows_.Add(Allocation{.time = record.time,
                               .operation = operation,
                               .agent = AgentNumber(record.place.agent),
                               .bytes = row.Integer(kBytes, 0),
                               .address = address});
        });
  }

  Status ReadCalls() {
    enum : std::size_t { kName = kNumCommonColumns };

    return ForEachRecord("rocpd_region", {"name_id"}, [&](TableScan& row, const Record& record) {
      const auto message = lookups_.messages.find(record.event);
      rows_.Add(Call{.time = record.time,
                     .domain = String(FindOr(lookups_.events, record.event).category),
                     .function = message == lookups_.messages.end()
                                     ? String(row.Integer(kName, -1))
                                     : std::string_view(message->second),
                     .process = std::max<std::int64_t>(record.place.process, 0),
                     .thread = std::max<std::int64_t>(record.place.thread, 0)});
    });
  }

  RocpdTables tables_;
  trace::Trace& trace_;
  ProcessRows rows_;
  RocpdLookups lookups_;
  tsl::robin_map<std::int64_t, std::int32_t> number_of_agent_;
};

}  // namespace

bool IsRocpd(const SqliteDatabase& database) {
  const auto& tables = database.tables();
  return std::ranges::any_of(tables,
                             [](std::string_view table) { return table.starts_with("rocpd_"); });
}

Result<std::vector<std::string>> RocpdProcesses(const SqliteDatabase& database) {
  std::vector<std::string> suffixes;
  for (const std::string& table : database.tables()) {
    for (const std::string_view records : kRecordTables) {
      if (!table.starts_with(records)) {
        continue;
      }
      const std::string suffix = table.substr(records.size());
      const bool is_new = std::ranges::find(suffixes, suffix) == suffixes.end();
      if (is_new && (suffix.empty() || suffix.front() == '_')) {
        suffixes.push_back(suffix);
      }
    }
  }
  if (suffixes.empty()) {
    return Fail(Error::Kind::kUnsupported,
                fmt::format("a rocpd database without a table of kernels, copies, allocations or "
                            "calls (rocpd_kernel_dispatch_* and its like); {}",
                            kFix));
  }
  return suffixes;
}

Status ReadRocpdProcess(const SqliteDatabase& database, const std::string& suffix,
                        trace::Trace& trace) {
  return ProcessReader(database, suffix, trace).Read();
}

}  // namespace orrery::ingest::rocprofv3
