#pragma once

#include <optional>

#include "orrery/base/error.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/megatron_arguments.h"
#include "orrery/workload/job/published/run_row.h"

namespace orrery::workload {

/// The job that a row's `options` describe where they are those of a command line of Megatron-LM:
/// "transformer_impl=local; hidden-dropout=0.0; log-params-norm=True". What they leave out has
/// Megatron's default. Nothing for rows that do not state `transformer_impl`. Options that are not
/// understood are added to the row's assumptions.
[[nodiscard]] Result<std::optional<MegatronJob>> StatedOptionsOf(RunRow& row,
                                                                 const Framework& framework);

}  // namespace orrery::workload
