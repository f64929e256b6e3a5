#pragma once

#include "orrery/ingest/json_value.h"
#include "orrery/ingest/rocprofv3/process.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::rocprofv3 {

/// Reads one element of "rocprofiler-sdk-tool", a process, into `trace`; kinds of records that
/// Orrery has no table for are counted.
void ReadProcess(const JsonElement& process, trace::Trace& trace);

}  // namespace orrery::ingest::rocprofv3
