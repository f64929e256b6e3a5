#pragma once

#include "orrery/ingest/nsys/export_context.h"
#include "orrery/ingest/nsys/rank_set.h"

namespace orrery::ingest::nsys {

/// Reads NVTX: ranges become annotations, those that PyTorch's `emit_nvtx` wrote become host
/// operators, marks become instants, and calls of NCCL are kept for the collectives as well. Ranges
/// that are still open end with the last row that was read. Must come after all other rows.
void ReadNvtxRows(ExportContext& context, RankSet& ranks);

}  // namespace orrery::ingest::nsys
