#pragma once

#include <span>

#include "orrery/simulate/rate_model.h"

namespace orrery::simulate {

/// How tasks share a GPU by arithmetic alone, without measured constants. A task is as fast as the
/// scarcest thing it needs lets it be:
///
/// 1. Multiprocessors. A communication kernel holds its share as long as it is there, waiting or
///    not. What is left is for the rest; when that wants more than is left, each gets its share in
///    proportion.
/// 2. Memory. When all that runs wants more than the bandwidth, each gets its share in proportion.
///    What waits moves nothing.
class AnalyticOverlap : public RateModel {
 public:
  void Rates(std::span<const RunningTask> running, std::span<double> rates) const override;
};

}  // namespace orrery::simulate
