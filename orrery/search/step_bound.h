#pragma once

#include <cstdint>

#include "orrery/search/stage_costs.h"
#include "orrery/workload/job/job.h"

namespace orrery::search {

/// Returns true if passes of two micro-batches run beside each other, so that one computes while
/// the other communicates.
[[nodiscard]] bool RunsPairs(const workload::Job& job);

/// A time that a simulated step of the plan never falls below.
///
/// It is the largest of what follows for each stage of the pipeline:
/// 1. Its first micro-batch has come through the stages before it, all its own passes run one after
///    the other, and the gradient of its last one goes back through the stages before it. Passes
///    wait for communication inside layers. Then come the gradients that are reduced after the
///    last pass, and the parameters that are gathered.
/// 2. The stream of data-parallel communication is busy with all of it.
/// 3. The host launches all kernels of layers.
/// Left out are: what kernels and transfers that run together lose, waiting for other ranks, the
/// norm of gradients and the update on the GPU.
[[nodiscard]] std::int64_t StepBoundPs(const StagedPlan& plan);

}  // namespace orrery::search
