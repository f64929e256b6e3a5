#pragma once

#include "orrery/overlap/model.h"

namespace orrery::overlap {

/// Analytic model: room on the multiprocessors in whole blocks, and memory bandwidth shared in
/// proportion to demand. If the launch is unknown, a compute kernel is assumed to fill the GPU with
/// many waves.
class AnalyticModel : public Model {
 public:
  void Slowdowns(const Machine& machine, std::span<const Pair> pairs,
                 std::span<Slowdown> slowdowns) const override;

  [[nodiscard]] double DelayUs(const Machine& machine, const Pair& pair,
                               const Arrival& arrival) const override;
};

/// The parts of the analytic slowdown, features of learned models.
struct AnalyticParts {
  double room = 1;     // of the compute kernel, by the remaining multiprocessors
  double memory = 1;   // … by the remaining bandwidth
  double compute = 1;  // the larger of the two, weighted by what bounds the kernel
  double communication = 1;
  double load = 0;  // demand of both over the memory bandwidth
};

[[nodiscard]] AnalyticParts PartsOf(const Machine& machine, const Pair& pair);

}  // namespace orrery::overlap
