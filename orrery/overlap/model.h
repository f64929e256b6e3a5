#pragma once

#include <span>

#include "orrery/overlap/concurrent_kernels.h"

namespace orrery::overlap {

/// Two kernels that run together for a while.
struct Pair {
  ComputeKernel compute = {};
  CommunicationKernel communication = {};
};

/// How long each takes beside the other, over its time alone; at least 1.
struct Slowdown {
  double compute = 1;
  double communication = 1;

  bool operator==(const Slowdown&) const = default;
};

/// A kernel that is launched while the other runs.
struct Arrival {
  bool compute_is_first = true;
  double since_us = 0;  // how long the first has been running
  double first_us = 0;  // how long it takes alone
};

/// One launch of each kernel, the second at a set time after the first.
struct KernelOverlap {
  bool compute_is_first = true;
  double offset_us = 0;         // of the second launch
  double communication_us = 0;  // that communication takes alone
};

/// How kernels that share a GPU hold each other up: contention while both run, and queueing while
/// one of them finds no room on the multiprocessors. The analytic model and the learned one.
class Model {
 public:
  virtual ~Model() = default;

  /// Writes the slowdown of each pair.
  virtual void Slowdowns(const Machine& machine, std::span<const Pair> pairs,
                         std::span<Slowdown> slowdowns) const = 0;

  /// How long the second kernel waits until all of its first wave of blocks has found room.
  [[nodiscard]] virtual double DelayUs(const Machine& machine, const Pair& pair,
                                       const Arrival& arrival) const = 0;

  [[nodiscard]] Slowdown SlowdownOf(const Machine& machine, const Pair& pair) const {
    Slowdown slowdown;
    Slowdowns(machine, {&pair, 1}, {&slowdown, 1});
    return slowdown;
  }
};

}  // namespace orrery::overlap
