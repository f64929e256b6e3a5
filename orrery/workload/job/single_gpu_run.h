#pragma once

#include <cstddef>

#include "orrery/base/error.h"
#include "orrery/base/table.h"
#include "orrery/workload/job/published_run.h"

namespace orrery::workload {

/// Whether the table is one of throughputs of models on single machines: model, gpu, batch_per_gpu,
/// throughput, unit, columns_json.
[[nodiscard]] bool IsSingleGpuTable(const Table& table);

/// Reads one row of it. What it describes: pretraining of BERT-large, ResNet-50 and DLRM, where the
/// row says its batch and its framework has a profile; the rest is refused with the reason.
[[nodiscard]] Result<PublishedRun> ReadSingleGpuRun(const Table& table, std::size_t row);

}  // namespace orrery::workload
