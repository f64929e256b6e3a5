#pragma once

#include "orrery/workload/ensemble.h"

namespace orrery::compat::simai {

using workload::Ensemble;
using workload::Rank;

/// The numbers of ranks in each direction.
struct SimaiDegrees {
  Rank tensor = 1;
  Rank expert = 1;
  Rank data = 1;
  Rank stages = 1;

  [[nodiscard]] Rank RankAt(Rank tensor_index, Rank data_index, Rank stage) const {
    return tensor_index + tensor * (data_index + data * stage);
  }
};

/// Puts all ranks into the groups of their roles (generate/step.h): tensor, experts, data, data of
/// experts, and pairs of neighbours in the pipeline, which is a ring. Groups of one are left out.
void JoinSimaiGroups(const SimaiDegrees& degrees, Ensemble& ensemble);

}  // namespace orrery::compat::simai
