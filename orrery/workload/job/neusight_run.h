#pragma once

#include <memory>
#include <string>

#include "orrery/base/error.h"
#include "orrery/base/table.h"
#include "orrery/workload/job/run_table.h"

namespace orrery::workload {

/// Whether the table is NeuSight's end-to-end labels: device, model, mode, seqlen, batch, option.
[[nodiscard]] bool IsNeusightTable(const Table& table);

/// NeuSight's end-to-end labels: forward and backward pass of Hugging Face models in fp32, eager
/// PyTorch, without an optimizer, on one GPU or on four of one machine. The models' configurations
/// are in `model_configs.json` beside the table.
[[nodiscard]] Result<std::unique_ptr<RunTable>> OpenNeusightRuns(Table table,
                                                                 const std::string& path);

}  // namespace orrery::workload
