#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <tsl/robin_map.h>

#include "orrery/base/columns.h"
#include "orrery/base/lookup.h"
#include "orrery/ingest/activity_names.h"
#include "orrery/ingest/json/json_text.h"
#include "orrery/ingest/nsys/export_context.h"
#include "orrery/ingest/nsys/rank_set.h"
#include "orrery/ingest/nsys/row_readers.h"
#include "orrery/ingest/sqlite_database.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/tables.h"

namespace orrery::ingest::nsys {
namespace {

using trace::SyncKind;

constexpr std::string_view kSyncTable = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION";
constexpr std::string_view kRecordTable = "CUPTI_ACTIVITY_KIND_CUDA_EVENT";

// CUPTI's "none" for streams and events.
constexpr std::int64_t kNone = 0xFFFFFFFF;

std::int64_t ReadId(const TableScan& row, std::size_t column) {
  const std::int64_t id = row.Integer(column, -1);
  return id == kNone ? -1 : id;
}

std::vector<EventRecord> ReadRecords(ExportContext& context) {
  std::vector<EventRecord> records;
  context.ForEachRow(kRecordTable,
                     {"timestamp", "globalPid", "contextId", "streamId", "correlationId", "eventId",
                      "eventSyncId"},
                     [&](const TableScan& row) {
                       EventRecord record{.process = ProcessOf(row.Integer(1)),
                                          .context = row.Integer(2, -1),
                                          .stream = ReadId(row, 3),
                                          .correlation = row.Integer(4, -1),
                                          .event = ReadId(row, 5),
                                          .sync_id = ReadId(row, 6)};
                       // 0 means that the profiler did not collect it.
                       if (row.Integer(0) != 0) {
                         const auto time_ns = context.ReadTime(row, 0, kRecordTable);
                         record.has_time = time_ns.has_value();
                         record.time_ns = time_ns.value_or(0);
                       }
                       records.push_back(record);
                     });
  return records;
}

using CallTimes = tsl::robin_map<std::int64_t, std::int64_t>;

CallTimes BeginOfCalls(const trace::RuntimeCalls& calls) {
  CallTimes begin_of_call;
  for (RowId row = 0; row < calls.size(); ++row) {
    if (calls.correlation[row] >= 0) {
      begin_of_call.try_emplace(calls.correlation[row], calls.begin_ns[row]);
    }
  }
  return begin_of_call;
}

using RecordIndex = std::map<std::pair<ProcessKey, std::int64_t>, const EventRecord*>;

enum SyncColumn : std::size_t {
  kStart,
  kEnd,
  kProcess,
  kContext,
  kStream,
  kCorrelation,
  kType,
  kEvent,
  kSyncId,
};

const std::vector<std::string_view> kSyncColumns{"start",     "end",      "globalPid",
                                                 "contextId", "streamId", "correlationId",
                                                 "syncType",  "eventId",  "eventSyncId"};

SyncKind ReadKind(ExportContext& context, const TableScan& row) {
  // `syncType` has the numbers of SyncKind, up to kContext.
  const std::int64_t type = row.Integer(kType);
  const bool is_known = type >= 0 && type <= static_cast<std::int64_t>(SyncKind::kContext);
  const SyncKind kind = is_known ? static_cast<SyncKind>(type) : SyncKind::kUnknown;
  // Nsight Systems 2026.1 writes waits for a stream under this number too; they name no event.
  if (kind == SyncKind::kStreamWaitEvent && ReadId(row, kEvent) < 0 && ReadId(row, kStream) >= 0) {
    context.problems.Note("stream wait without an event; taken as a wait for the stream", 1,
                          kSyncTable);
    return SyncKind::kStream;
  }
  return kind;
}

void AppendSync(ExportContext& context, RankSet& ranks, const RecordIndex& records,
                const TableScan& row) {
  const std::optional<Interval> time = context.ReadInterval(row, kStart, kEnd, kSyncTable);
  if (!time) {
    return;
  }
  const ProcessKey process = ProcessOf(row.Integer(kProcess));
  const std::int64_t correlation = row.Integer(kCorrelation, -1);
  const std::int64_t cuda_context = row.Integer(kContext, -1);
  // Not by deviceId, which is 0 on every device in exports of 2026.
  RankBuilder& rank = ranks.ForContext(process, cuda_context, correlation);
  ranks.NoteCorrelation(rank, correlation);
  const SyncKind kind = ReadKind(context, row);
  const std::int64_t stream = ReadId(row, kStream);
  const EventRecord* const record = FindOr(records, std::pair(process, ReadId(row, kSyncId)));
  JsonFields extra;
  extra.Add("context", cuda_context);
  rank.trace.syncs.Append({.begin_ns = time->begin_ns,
                           .duration_ns = time->duration_ns,
                           .name = rank.Intern(SyncName(kind)),
                           .track = rank.StreamTrack(stream),
                           .kind = kind,
                           .device = rank.device,
                           .stream = stream,
                           .correlation = RankSet::IsOtherProcess(rank, process) ? -1 : correlation,
                           .event_id = ReadId(row, kEvent),
                           .wait_on_stream = record != nullptr ? record->stream : -1,
                           .record_correlation = record != nullptr ? record->correlation : -1,
                           .extra = rank.Intern(extra.text())});
}

}  // namespace

std::vector<EventRecord> ReadSyncRows(ExportContext& context, RankSet& ranks) {
  std::vector<EventRecord> records = ReadRecords(context);
  RecordIndex by_sync_id;
  for (const EventRecord& record : records) {
    ranks.NoteCorrelation(ranks.ForContext(record.process, record.context, record.correlation),
                          record.correlation);
    if (record.sync_id >= 0) {
      by_sync_id.try_emplace({record.process, record.sync_id}, &record);
    }
  }
  context.ForEachRow(kSyncTable, kSyncColumns,
                     [&](const TableScan& row) { AppendSync(context, ranks, by_sync_id, row); });
  return records;
}

void AppendEventRecords(ExportContext& context, RankSet& ranks, std::vector<EventRecord> records) {
  std::map<RankBuilder*, CallTimes> begin_of_call;
  for (EventRecord& record : records) {
    RankBuilder& rank = ranks.ForContext(record.process, record.context, record.correlation);
    if (!record.has_time) {
      const auto [calls, is_new] = begin_of_call.try_emplace(&rank);
      if (is_new) {
        calls->second = BeginOfCalls(rank.trace.runtime_calls);
      }
      const auto call = calls->second.find(record.correlation);
      record.has_time = call != calls->second.end();
      record.time_ns = record.has_time ? call->second : 0;
    }
    if (!record.has_time) {
      context.problems.Loss("event record without a time", 1, kRecordTable);
      continue;
    }
    rank.trace.syncs.Append(
        {.begin_ns = record.time_ns,
         .name = rank.Intern(SyncName(SyncKind::kEventRecord)),
         .track = rank.StreamTrack(record.stream),
         .kind = SyncKind::kEventRecord,
         .device = rank.device,
         .stream = record.stream,
         .correlation = RankSet::IsOtherProcess(rank, record.process) ? -1 : record.correlation,
         .event_id = record.event});
  }
}

}  // namespace orrery::ingest::nsys
