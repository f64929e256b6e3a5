#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "orrery/search/stage_costs.h"
#include "orrery/workload/plan/pipeline_schedule.h"

namespace orrery::search {

/// A closer lower bound of a simulated step than StepBoundPs, which takes longer: the passes of all
/// stages in the order of their schedule, with the messages between them and the data-parallel
/// communication that they wait for. Every pass takes what it takes alone, and every collective
/// what it takes on idle links. Left out are: what kernels and transfers that run together lose,
/// launches by the host, the norm of gradients and the update on the GPU. Not thread-safe.
class PassBound {
 public:
  /// 0 where passes of two micro-batches run beside each other.
  [[nodiscard]] std::int64_t Ps(const StagedPlan& plan);

 private:
  using ShapeKey = std::tuple<workload::PipelineSchedule, int, int, int>;
  using StageSchedules = std::vector<std::vector<workload::PipelineStep>>;

  [[nodiscard]] const StageSchedules& SchedulesOf(const workload::PipelineShape& shape);

  std::map<ShapeKey, StageSchedules> schedules_of_shape_;
};

}  // namespace orrery::search
