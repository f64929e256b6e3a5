#pragma once

#include <string>

#include "orrery/base/error.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/megatron_arguments.h"
#include "orrery/workload/job/published/run_row.h"
#include "orrery/workload/model/model.h"

namespace orrery::workload {

/// The model of a row of published runs: from its columns, and what they leave out from the family
/// that the activation tells (GELU: GPT with biases and learned positions; gated: LLaMA). What no
/// column can say (latent attention, shared experts, the size of heads) comes from the preset that
/// the row names, where its hidden size and heads are those of the row. `job` has its framework and
/// training. `stated`: what the row lists of Megatron's options, which tell the family; null: none.
[[nodiscard]] Result<Model> PublishedModel(RunRow& row, const Job& job,
                                           const MegatronJob* stated = nullptr);

/// The measured time of a step.
struct MeasuredStep {
  double seconds = 0;
  std::string derived_from = {};  // source of the time; empty where the row has it
};

/// The time of a row's step: as it stands there; else the batch over the throughput; else the
/// operations of a step, counted as the row says its source counts them (`tflops_kind`), over its
/// TFLOP/s or its share of the GPU's peak. `job` has its model, batch and machine.
[[nodiscard]] Result<MeasuredStep> MeasuredStepOf(const RunRow& row, const Job& job);

/// Returns true if a row has a step time or a metric that it can be derived from.
[[nodiscard]] bool HasMeasurement(const RunRow& row);

}  // namespace orrery::workload
