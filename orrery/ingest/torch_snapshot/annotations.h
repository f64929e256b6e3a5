#pragma once

#include "orrery/ingest/torch_snapshot/pickle_reader.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::torch_snapshot {

/// Appends what a snapshot says beside its memory: `external_annotations` (marks of begins and
/// ends, paired by device and name) and `allocator_settings`.
void AppendAnnotations(const Pickle& pickle, trace::Trace& trace);

}  // namespace orrery::ingest::torch_snapshot
