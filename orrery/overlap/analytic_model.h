#pragma once

#include "orrery/overlap/model.h"

namespace orrery::overlap {

/// By arithmetic alone: room on the multiprocessors by whole blocks, and the memory's bandwidth
/// shared in proportion to what each wants of it. Where the launch is not known, a kernel that
/// computes is taken to fill the GPU with many waves.
class AnalyticModel : public Model {
 public:
  void Slowdowns(const Machine& machine, std::span<const Pair> pairs,
                 std::span<Slowdown> slowdowns) const override;

  [[nodiscard]] double DelayUs(const Machine& machine, const Pair& pair,
                               const Arrival& arrival) const override;
};

/// The parts of the analytic slowdown, which learned models take as features.
struct AnalyticParts {
  double room = 1;     // of the computing kernel, by the multiprocessors that are left
  double memory = 1;   // … by the bandwidth that is left
  double compute = 1;  // the larger of the two as far as the kernel is bound by them
  double communication = 1;
  double load = 0;  // what both want of the memory's bandwidth
};

[[nodiscard]] AnalyticParts PartsOf(const Machine& machine, const Pair& pair);

}  // namespace orrery::overlap
