#pragma once

#include <vector>

#include "orrery/workload/ensemble.h"
#include "orrery/workload/generate/layer_op.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::workload {

/// The coordinates of a rank in a plan.
struct RankPlace {
  int tp = 0;
  int cp = 0;
  int dp = 0;
  int pp = 0;
};

[[nodiscard]] RankPlace PlaceOfRank(const Plan& plan, Rank rank);

[[nodiscard]] Rank RankAt(const Plan& plan, const RankPlace& place);

/// Returns true if ranks of a plan have groups on a role; not of messages of the pipeline.
[[nodiscard]] bool HasGroups(const Plan& plan, GroupRole role);

/// The ranks of the group on a role that belongs to a place, in order. The place need not be in it:
/// only the ends of a pipeline share an embedding.
void MembersOf(const Plan& plan, GroupRole role, const RankPlace& place,
               std::vector<Rank>& members);

}  // namespace orrery::workload
