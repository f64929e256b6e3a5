#pragma once

#include "orrery/workload/ensemble.h"
#include "orrery/workload/plan/pipeline_schedule.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::workload {

/// Where a rank stands in the plan.
struct RankPlace {
  int tp = 0;
  int cp = 0;
  int dp = 0;
  int pp = 0;

  bool operator==(const RankPlace&) const = default;
};

[[nodiscard]] RankPlace PlaceOfRank(const Plan& plan, Rank rank);
[[nodiscard]] Rank RankAt(const Plan& plan, const RankPlace& place);

/// Puts every rank of a plan on its GPU and adds the groups that it talks in, one for each
/// GroupRole. Rank r runs program pp of its place.
void AddRanks(const Plan& plan, const PipelineShape& shape, Ensemble& ensemble);

}  // namespace orrery::workload
