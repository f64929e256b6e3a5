#pragma once

#include <cstdint>
#include <vector>

#include "orrery/analyze/run_view.h"
#include "orrery/base/interval_set.h"

namespace orrery::analyze {

/// How one stage of a pipeline spent the group's window of one step.
struct StageTime {
  std::int32_t rank = 0;
  std::int64_t window_ns = 0;    // of the whole pipeline group
  std::int64_t useful_ns = 0;    // compute, memory, other communication, pipeline transfers
  std::int64_t edge_ns = 0;      // before its first and after its last work
  std::int64_t p2p_wait_ns = 0;  // waiting for a neighbour
  std::int64_t host_ns = 0;      // the host launched late: not the schedule's fault
  std::int64_t other_ns = 0;

  [[nodiscard]] std::int64_t bubble_ns() const { return edge_ns + p2p_wait_ns; }
};

/// One pipeline in one step: the ranks joined by sends and receives, one a stage.
struct PipelineStep {
  std::int64_t step = -1;  // its number
  std::vector<StageTime> stages;
};

/// Returns every pipeline group in every selected step; groups in order of their lowest rank.
[[nodiscard]] std::vector<PipelineStep> MeasurePipelines(const RunView& run);

}  // namespace orrery::analyze
