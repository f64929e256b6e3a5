#pragma once

#include "orrery/ingest/nsys/export_context.h"
#include "orrery/ingest/nsys/gpu_map.h"
#include "orrery/ingest/nsys/rank_set.h"

namespace orrery::ingest::nsys {

/// Reads the samples of GPU_METRICS as counters. Their names come from TARGET_INFO_GPU_METRICS by
/// (typeId, metricId), because a metric's number differs between GPUs and versions. The lowest
/// eight bits of typeId are the GPU; samples of a GPU that no rank works on go to the first rank.
void ReadGpuMetrics(ExportContext& context, RankSet& ranks, const GpuMap& gpus);

}  // namespace orrery::ingest::nsys
