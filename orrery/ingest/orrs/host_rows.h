#pragma once

#include "orrery/ingest/orrs/recording.h"

namespace orrery::ingest::orrs {

/// Appends what the host did: operators (their `external_id` is the number of their event),
/// regions, steps, calls, waits, and marks for what has no table of its own.
void AppendHostRows(Recording& recording);

}  // namespace orrery::ingest::orrs
