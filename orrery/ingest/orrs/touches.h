#pragma once

#include "orrery/ingest/orrs/device_rows.h"
#include "orrery/ingest/orrs/recording.h"
#include "orrery/ingest/orrs/replay.h"

namespace orrery::ingest::orrs {

/// The last stage: appends the objects, replaces numbers of keys by rows in all tables that name
/// activities and objects, adds what copies, sets and arguments touch, and names the operators.
/// Rows of activities must not move any more.
void LinkMemory(Recording& recording, Replay& replay, const DeviceRows& device_rows);

}  // namespace orrery::ingest::orrs
