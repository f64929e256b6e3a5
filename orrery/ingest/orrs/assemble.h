#pragma once

#include <string>

#include "orrery/ingest/format.h"
#include "orrery/ingest/orrs/recording.h"
#include "orrery/ingest/orrs/replay.h"
#include "orrery/stream/reader.h"

namespace orrery::ingest::orrs {

/// Fills in what a trace says of its file.
void DescribeFile(const std::string& path, std::uint16_t minor_version, trace::TraceInfo& info);

/// Counts what the reader could not use; `damage` says why the file ends early, if it does.
void NoteLosses(const stream::StreamLosses& losses, const std::string& damage,
                trace::ProblemLog& problems);

/// Puts a recording together whose events were replayed: the last step to a whole trace.
void Assemble(Recording& recording, Replay& replay, const ReadOptions& options);

}  // namespace orrery::ingest::orrs
