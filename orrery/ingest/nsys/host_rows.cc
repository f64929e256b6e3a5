#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tsl/robin_map.h>

#include "orrery/base/lookup.h"
#include "orrery/base/string_table.h"
#include "orrery/ingest/json/json_text.h"
#include "orrery/ingest/nsys/export_context.h"
#include "orrery/ingest/nsys/rank_set.h"
#include "orrery/ingest/nsys/row_readers.h"
#include "orrery/ingest/sqlite_database.h"
#include "orrery/trace/enums.h"

namespace orrery::ingest::nsys {
namespace {

using trace::ApiKind;

constexpr std::string_view kRuntimeTable = "CUPTI_ACTIVITY_KIND_RUNTIME";

// The call that one StringIds row names, for one rank.
struct CallName {
  StringId name = StringId::kEmpty;
  StringId extra = StringId::kEmpty;
};

class CallNames {
 public:
  explicit CallNames(const ExportContext& context) : context_(context) {}

  CallName Of(RankBuilder& rank, std::int64_t string_id) {
    return FindOrAdd(names_[&rank], string_id, [&]() -> CallName {
      const std::string_view symbol = context_.String(string_id);
      const std::string_view name = WithoutInterfaceVersion(symbol);
      JsonFields extra;
      if (name != symbol) {
        extra.Add("symbol", symbol);
      }
      return {.name = rank.Intern(name), .extra = rank.Intern(extra.text())};
    });
  }

 private:
  const ExportContext& context_;
  std::map<RankBuilder*, tsl::robin_map<std::int64_t, CallName>> names_;
};

enum RuntimeColumn : std::size_t { kStart, kEnd, kClass, kThread, kCorrelation, kName, kReturn };

StringId ExtraWithCorrelation(RankBuilder& rank, StringId extra, std::int64_t correlation) {
  JsonFields fields;
  fields.Add("correlation", correlation);
  std::string text(rank.trace.Text(extra));
  text += (text.empty() ? "" : ",") + fields.text();
  return rank.Intern(text);
}

const std::vector<std::string_view> kSliceColumns{"start", "end", "globalTid", "nameId",
                                                  "overheadType"};

bool IsSliceTable(const SqliteDatabase& database, std::string_view table) {
  const std::vector<std::string> columns = database.Columns(table);
  return std::ranges::all_of(std::span(kSliceColumns).first(4), [&](std::string_view name) {
    return std::ranges::find(columns, name) != columns.end();
  });
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
    // Overhead of the profiler has Kineto's category; other slices are named after their table.
    const std::string_view category = table.ends_with("OVERHEAD") ? "overhead" : table;
    JsonFields extra;
    if (const auto type = overhead_types.find(row.Integer(4, -1)); type != overhead_types.end()) {
      extra.Add("overhead type", type->second.label);
    }
    rank.trace.other_slices.Append({.begin_ns = time->begin_ns,
                                    .duration_ns = time->duration_ns,
                                    .name = rank.Name(row.Integer(3, -1)),
                                    .category = rank.Intern(category),
                                    .track = rank.HostTrack(thread),
                                    .extra = rank.Intern(extra.text())});
  });
}

constexpr std::string_view kMemoryTable = "CUDA_GPU_MEMORY_USAGE_EVENTS";

enum MemoryColumn : std::size_t {
  kMemoryStart,
  kMemoryProcess,
  kMemoryDevice,
  kMemoryContext,
  kMemoryAddress,
  kMemoryBytes,
  kMemoryKind,
  kMemoryOperation,
  kMemoryName,
  kMemoryCorrelation,
  kMemoryPoolSize,
  kMemoryPoolUsed,
};

const std::vector<std::string_view> kMemoryColumns{"start",
                                                   "globalPid",
                                                   "deviceId",
                                                   "contextId",
                                                   "address",
                                                   "bytes",
                                                   "memKind",
                                                   "memoryOperationType",
                                                   "name",
                                                   "correlationId",
                                                   "localMemoryPoolSize",
                                                   "localMemoryPoolUtilizedSize"};

}  // namespace

std::string_view WithoutInterfaceVersion(std::string_view call) {
  const std::size_t last_letter = call.find_last_not_of("0123456789");
  if (last_letter == std::string_view::npos || last_letter < 2) {
    return call;
  }
  // A version has four digits or more (3020 is 3.2); "_v2" is part of a name.
  const bool is_version = call[last_letter] == 'v' && call[last_letter - 1] == '_' &&
                          call.size() - last_letter - 1 >= 4;
  return is_version ? call.substr(0, last_letter - 1) : call;
}

ApiKind ApiOfName(std::string_view call) {
  if (call.starts_with("cuda")) {
    return ApiKind::kRuntime;
  }
  const bool is_driver = call.size() > 2 && call.starts_with("cu") &&
                         std::isupper(static_cast<unsigned char>(call[2])) != 0;
  return is_driver ? ApiKind::kDriver : ApiKind::kOther;
}

void ReadRuntimeCalls(ExportContext& context, RankSet& ranks) {
  CallNames names(context);
  context.ForEachRow(
      kRuntimeTable,
      {"start", "end", "eventClass", "globalTid", "correlationId", "nameId", "returnValue"},
      [&](const TableScan& row) {
        const std::optional<Interval> time = context.ReadInterval(row, kStart, kEnd, kRuntimeTable);
        if (!time) {
          return;
        }
        const std::int64_t thread = row.Integer(kThread);
        const std::int64_t correlation = row.Integer(kCorrelation, -1);
        const RankSet::Home home = ranks.ForCall(ProcessOf(thread), correlation);
        RankBuilder& rank = *home.rank;
        if (home.found_by_work) {
          ranks.NoteLaunch(thread, time->begin_ns, rank);
        }
        const std::int64_t event_class = row.Integer(kClass, -1);
        const CallName name = names.Of(rank, row.Integer(kName, -1));
        rank.trace.runtime_calls.Append(
            {.begin_ns = time->begin_ns,
             .duration_ns = time->duration_ns,
             .name = name.name,
             .track = rank.HostTrack(thread),
             .api = event_class == 0   ? ApiKind::kRuntime
                    : event_class == 1 ? ApiKind::kDriver
                                       : ApiOfName(rank.trace.Text(name.name)),
             .correlation = home.is_own ? correlation : -1,
             .return_value = row.SmallInteger(kReturn),
             .extra =
                 home.is_own ? name.extra : ExtraWithCorrelation(rank, name.extra, correlation)});
      });
  ranks.SealLaunches();
}

void ReadOtherSlices(ExportContext& context, RankSet& ranks) {
  const EnumTable overhead_types = context.ReadEnum("ENUM_CUPTI_OVERHEAD_TYPE");
  for (const std::string& table : context.database.tables()) {
    if (!context.tables_read.contains(table) && IsSliceTable(context.database, table)) {
      ReadSliceTable(context, ranks, table, overhead_types);
    }
  }
}

void ReadMemoryEvents(ExportContext& context, RankSet& ranks) {
  context.ForEachRow(kMemoryTable, kMemoryColumns, [&](TableScan& row) {
    const std::optional<std::int64_t> time = context.ReadTime(row, kMemoryStart, kMemoryTable);
    if (!time) {
      return;
    }
    const std::int32_t device = row.SmallInteger(kMemoryDevice, -1);
    RankBuilder& rank = ranks.ForProcessDevice(ProcessOf(row.Integer(kMemoryProcess)), device);
    // Sizes are positive in the table; damage must not flip the sign or overflow it.
    const auto bytes = std::max<std::int64_t>(row.Integer(kMemoryBytes), 0);
    const std::int64_t kind = row.Integer(kMemoryKind, -1);
    const bool is_host = kind == 0 || kind == 1;  // pageable or pinned
    JsonFields extra;
    AddIntegers(row, {{"context", kMemoryContext}, {"correlation", kMemoryCorrelation}}, extra);
    rank.trace.memory_events.Append(
        {.begin_ns = *time,
         .bytes = row.Integer(kMemoryOperation) == 1 ? -bytes : bytes,
         .address = static_cast<std::uint64_t>(row.Integer(kMemoryAddress)),
         .device_kind = is_host ? trace::DeviceKind::kCpu : trace::DeviceKind::kGpu,
         .device = device,
         .total_allocated_bytes = row.Integer(kMemoryPoolUsed, -1),
         .total_reserved_bytes = row.Integer(kMemoryPoolSize, -1),
         .name = rank.Intern(row.Text(kMemoryName)),
         .extra = rank.Intern(extra.text())});
  });
}

}  // namespace orrery::ingest::nsys
