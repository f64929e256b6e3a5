#pragma once

#include <cstdint>
#include <vector>

#include "orrery/ingest/nsys/export_context.h"
#include "orrery/ingest/nsys/rank_set.h"

namespace orrery::ingest::nsys {

/// A stream passed an event; the row of a later wait names it by `sync_id`.
struct EventRecord {
  ProcessKey process = kUnknownProcess;
  std::int64_t time_ns = 0;  // meaningless without has_time
  bool has_time = false;
  std::int64_t context = -1;
  std::int64_t stream = -1;
  std::int64_t correlation = -1;
  std::int64_t event = -1;
  std::int64_t sync_id = -1;
};

/// Reads waits, each joined with the record of its event, and returns the records. Notes the rank
/// of their calls, so it must come before the runtime calls.
[[nodiscard]] std::vector<EventRecord> ReadSyncRows(ExportContext& context, RankSet& ranks);

/// Writes the records; those without a time get that of their call, so this must come after the
/// runtime calls.
void AppendEventRecords(ExportContext& context, RankSet& ranks, std::vector<EventRecord> records);

}  // namespace orrery::ingest::nsys
