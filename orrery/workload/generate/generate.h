#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/kernel/estimate.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/generate/unit_pricing.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/plan/pipeline_schedule.h"

namespace orrery::workload {

/// The programs of all ranks for one training step, and the reliability of operator times.
struct GeneratedJob {
  Ensemble ensemble;
  std::vector<PriceCoverage> coverage;  // of each GPU that ranks have
  std::vector<StepPower> power;         // the same
};

/// The shape of a job's pipeline. An interleaved one runs passes in pairs where a framework hides
/// the communication of experts this way (Megatron's overlap-moe-expert-parallel-comm).
[[nodiscard]] PipelineShape PipelineShapeOf(const Job& job);

/// Estimates the number of tasks that Generate writes, without writing them: a program for each
/// stage of the pipeline counts once.
[[nodiscard]] Result<std::int64_t> EstimateTasks(const Job& job);

/// Writes the programs of a job, one for each stage of its pipeline and each GPU that ranks of the
/// stage have. The job must have passed CheckJob. `costs` estimates operators.
[[nodiscard]] Result<GeneratedJob> Generate(const Job& job, const kernel::CostModel& costs);

}  // namespace orrery::workload
