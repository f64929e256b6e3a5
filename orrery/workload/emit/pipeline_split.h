#pragma once

#include <cstdint>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/model/model.h"

namespace orrery::workload {

/// The ends that count as a layer, so that all parts of a pipeline have equally many.
enum class PipelineEnds : std::uint8_t { kNeither, kBoth, kEmbedding, kLoss, kNotEven };

[[nodiscard]] constexpr bool CountsEmbedding(PipelineEnds ends) {
  return ends == PipelineEnds::kBoth || ends == PipelineEnds::kEmbedding;
}

[[nodiscard]] constexpr bool CountsLoss(PipelineEnds ends) {
  return ends == PipelineEnds::kBoth || ends == PipelineEnds::kLoss;
}

struct PipelineSplit {
  std::vector<int> blocks = {};  // of each part of the chain
  PipelineEnds ends = PipelineEnds::kNeither;
};

/// The cut of a job's layers, as simulated, in the terms of tools. Schedules that no tool has are
/// taken for 1F1B, interleaved with chunks.
[[nodiscard]] Result<PipelineSplit> SplitOf(const Job& job, const Transformer& model);

}  // namespace orrery::workload
