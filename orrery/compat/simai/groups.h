#pragma once

#include "orrery/workload/ensemble.h"

namespace orrery::compat::simai {

using workload::Ensemble, workload::Rank;

/// The number of ranks in each parallel dimension.
struct Degrees {
  Rank tensor = 1;
  Rank expert = 1;
  Rank data = 1;
  Rank stages = 1;

  [[nodiscard]] Rank RankAt(Rank tensor_index, Rank data_index, Rank stage) const {
    return tensor_index + tensor * (data_index + data * stage);
  }
};

/// Adds the groups of all roles (generate/step.h): tensor, expert, data, expert data, and pairs of
/// pipeline neighbours (the stages form a ring). Groups of one rank are left out.
void AddGroups(const Degrees& degrees, Ensemble& ensemble);

}  // namespace orrery::compat::simai
