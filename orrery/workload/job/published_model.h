#pragma once

#include "orrery/base/error.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/run_row.h"

namespace orrery::workload {

/// The model of a row of published runs: from its columns, and what they leave out from the family
/// that the activation tells (GELU: GPT with biases and learned positions; gated: LLaMA). What no
/// column can say (latent attention, shared experts, the size of heads) comes from the preset that
/// the row names, where its hidden size and heads are those of the row. `job` has its framework and
/// training.
[[nodiscard]] Result<Model> PublishedModel(RunRow& row, const Job& job);

}  // namespace orrery::workload
