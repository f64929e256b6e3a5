#pragma once

#include <cstdint>
#include <vector>

#include <tsl/robin_map.h>

#include "orrery/ingest/orrs/recording.h"
#include "orrery/ingest/orrs/replay.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::orrs {

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
