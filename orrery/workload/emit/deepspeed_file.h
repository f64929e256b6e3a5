#pragma once

#include "orrery/base/error.h"
#include "orrery/workload/emit/emit_job.h"
#include "orrery/workload/job/job.h"

namespace orrery::workload {

/// A configuration of DeepSpeed, JSON: batch, ZeRO, offload and precision. Model, pipeline, tensor
/// and expert parallelism belong to the program that calls it, such as Megatron-DeepSpeed.
[[nodiscard]] Result<EmittedJob> DeepSpeedFile(const Job& job);

}  // namespace orrery::workload
