#pragma once

#include <vector>

#include "orrery/workload/plan/pipeline_schedule.h"

namespace orrery::workload {

/// The order of steps of one device for each schedule; pipeline_schedule.cc has checked the shape.

/// All forward passes, then all backward passes, first in first out.
[[nodiscard]] std::vector<PipelineStep> GpipeOrder(const PipelineShape& shape);

/// A forward and a backward pass in turn, behind as many forward passes as devices follow.
[[nodiscard]] std::vector<PipelineStep> OneForwardOneBackwardOrder(const PipelineShape& shape,
                                                                   int stage);

/// Megatron's: micro-batches go through the chunks in groups as large as the pipeline. A short last
/// group is simulated as a whole one of which some are missing, for its own order would deadlock.
[[nodiscard]] std::vector<PipelineStep> InterleavedOrder(const PipelineShape& shape, int stage);

/// ZB-H1: 1F1B, where weight gradients wait until more than `stage` of them are pending.
[[nodiscard]] std::vector<PipelineStep> ZeroBubbleH1Order(const PipelineShape& shape, int stage);

/// ZB-V (Qi et al., 2024): two chunks in a V, no idle time inside a device for equal passes.
[[nodiscard]] std::vector<PipelineStep> ZeroBubbleVOrder(const PipelineShape& shape, int stage);

/// DualPipe (DeepSeek-V3): micro-batches from both ends, forward and backward passes side by side.
[[nodiscard]] std::vector<PipelineStep> DualPipeOrder(const PipelineShape& shape, int stage);

}  // namespace orrery::workload
