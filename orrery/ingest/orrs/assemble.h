#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tsl/robin_map.h>

#include "orrery/ingest/format.h"
#include "orrery/ingest/orrs/recording.h"
#include "orrery/ingest/orrs/replay.h"
#include "orrery/stream/reader.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::orrs {

/// Fills in the format, version and path of a trace.
void DescribeFile(const std::string& path, std::uint16_t minor_version, trace::TraceInfo& info);

/// Counts what the reader could not use; `damage` says why the file ends early, if it does.
void NoteLosses(const stream::StreamLosses& losses, const std::string& damage,
                trace::ProblemLog& problems);

/// Assembles the trace of a recording whose events were replayed.
void Assemble(Recording& recording, Replay& replay, const ReadOptions& options);

/// The rows of activities by the number of their event, and what is still to be done for them when
/// the rows of objects and operators are known.
struct DeviceRows {
  tsl::robin_map<std::uint64_t, RowId> activity_of_event;
  std::vector<std::uint64_t> event_of_activity;
};

/// Appends launches, memcpys, memsets and graphs to activities, in the order that FinishTrace gives
/// them, and an observation for each, in order of events.
[[nodiscard]] DeviceRows AppendDeviceRows(Recording& recording);

/// The last stage: appends the objects, replaces numbers of keys by rows in all tables that name
/// activities and objects, adds what memcpys, memsets and arguments touch, and names the operators.
/// Rows of activities must not move any more.
void LinkMemory(Recording& recording, Replay& replay, const DeviceRows& device_rows);

}  // namespace orrery::ingest::orrs
