#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "orrery/search/stage_costs.h"
#include "orrery/workload/plan/pipeline_schedule.h"

namespace orrery::search {

/// Micro-batches that a device holds when one of its passes begins, by chunk.
struct InFlight {
  workload::PipelineStep step = {};
  std::vector<int> kept = {};      // forward passes whose backward pass has not ended
  std::vector<int> deferred = {};  // backward passes whose gradients of weights are missing

  bool operator==(const InFlight&) const = default;
};

/// The moments of a schedule at which a device holds most: for any sizes of its chunks, one of them
/// is the fullest.
[[nodiscard]] std::vector<InFlight> FullestMoments(const workload::PipelineShape& shape, int stage);

/// Bytes that a simulated step of a plan never needs less of, on the fullest stage. The same
/// tensors as the simulator's, in the order of the schedule; blocks are not rounded, and parameters
/// that are gathered ahead are left out. Not thread-safe.
class MemoryBound {
 public:
  [[nodiscard]] std::int64_t Bytes(const StagedPlan& plan);

 private:
  using ShapeKey = std::tuple<workload::PipelineSchedule, int, int, int, bool>;

  [[nodiscard]] const std::vector<InFlight>& MomentsOf(const workload::PipelineShape& shape,
                                                       int stage);
  [[nodiscard]] std::int64_t StageBytes(const StagedPlan& plan, int stage);

  std::map<ShapeKey, std::vector<std::vector<InFlight>>> moments_of_shape_;  // by stage
};

}  // namespace orrery::search
