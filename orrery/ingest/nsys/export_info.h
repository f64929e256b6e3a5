#pragma once

#include <string>

#include "orrery/ingest/nsys/export_context.h"
#include "orrery/ingest/nsys/rank_set.h"

namespace orrery::ingest::nsys {

/// Writes what the export says about itself into each rank: tool and schema, host, metadata, and
/// the profiler's own warnings and errors as notes.
void FillExportInfo(ExportContext& context, RankSet& ranks, const std::string& file);

/// Numbers the ranks: by the largest communicator that each of them joined where NCCL's payloads
/// tell it for all of them, else in their order where there are several. A single rank that nothing
/// is known about keeps -1.
void NumberRanks(RankSet& ranks);

/// Notes tables that hold rows and were not read.
void NoteTablesLeftOut(ExportContext& context);

}  // namespace orrery::ingest::nsys
