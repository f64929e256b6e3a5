#pragma once

#include <span>

#include "orrery/overlap/concurrent_kernels.h"

namespace orrery::overlap {

/// Two kernels that overlap.
struct Pair {
  ComputeKernel compute = {};
  CommunicationKernel communication = {};
};

/// The time of each kernel while both run, relative to its time alone; at least 1.
struct Slowdown {
  double compute = 1;
  double communication = 1;

  bool operator==(const Slowdown&) const = default;
};

/// A kernel that is launched while the other runs.
struct Arrival {
  bool compute_is_first = true;
  double since_us = 0;  // time since the first launch
  double first_us = 0;  // duration of the first alone
};

/// One launch of each kernel, the second at a set time after the first.
struct KernelOverlap {
  bool compute_is_first = true;
  double offset_us = 0;         // of the second launch
  double communication_us = 0;  // communication alone
};

/// Slowdown of kernels that share a GPU: contention while both run, and queueing while one of them
/// has no room on the multiprocessors. Implemented by the analytic and the learned model.
class Model {
 public:
  virtual ~Model() = default;

  /// Writes the slowdown of each pair.
  virtual void Slowdowns(const Machine& machine, std::span<const Pair> pairs,
                         std::span<Slowdown> slowdowns) const = 0;

  /// The delay of the second kernel until its whole first wave of blocks has started.
  [[nodiscard]] virtual double DelayUs(const Machine& machine, const Pair& pair,
                                       const Arrival& arrival) const = 0;

  [[nodiscard]] Slowdown SlowdownOf(const Machine& machine, const Pair& pair) const {
    Slowdown slowdown;
    Slowdowns(machine, {&pair, 1}, {&slowdown, 1});
    return slowdown;
  }
};

}  // namespace orrery::overlap
