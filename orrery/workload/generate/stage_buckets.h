#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "orrery/workload/generate/stage_units.h"
#include "orrery/workload/job/job.h"

namespace orrery::workload {

/// A bucket of gradients of a stage, and the units that fill it.
struct StageBucket {
  bool is_of_experts = false;
  std::int64_t elements = 0;
  std::vector<std::size_t> units = {};  // counted through all chunks, each once
};

/// The buckets of a stage as its framework makes them, in the order they are sent; those of experts
/// are apart, since other ranks share them.
[[nodiscard]] std::vector<StageBucket> StageBuckets(const Job& job, const StageTensors& tensors);

}  // namespace orrery::workload
