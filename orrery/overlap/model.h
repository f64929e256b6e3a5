#pragma once

#include <span>

#include "orrery/overlap/sides.h"

namespace orrery::overlap {

/// Two kernels that run together for a while.
struct Pair {
  ComputeSide compute = {};
  CommunicationSide communication = {};
};

/// How long each takes beside the other, over its time alone; at least 1.
struct Stretch {
  double compute = 1;
  double communication = 1;

  bool operator==(const Stretch&) const = default;
};

/// A kernel that is launched while the other runs.
struct Arrival {
  bool compute_is_first = true;
  double since_us = 0;  // how long the first has been running
  double first_us = 0;  // how long it takes alone
};

/// One launch of each kernel, the second at a set time after the first.
struct Meeting {
  bool compute_is_first = true;
  double offset_us = 0;         // of the second launch
  double communication_us = 0;  // that communication takes alone
};

/// How kernels that share a GPU hold each other up: contention while both run, and queueing while
/// one of them finds no room on the multiprocessors. The analytic model and the learned one.
class Model {
 public:
  virtual ~Model() = default;

  /// Writes the stretch of each pair.
  virtual void Stretches(const Machine& machine, std::span<const Pair> pairs,
                         std::span<Stretch> stretches) const = 0;

  /// How long the second kernel waits until all of its first wave of blocks has found room.
  [[nodiscard]] virtual double DelayUs(const Machine& machine, const Pair& pair,
                                       const Arrival& arrival) const = 0;

  [[nodiscard]] Stretch StretchOf(const Machine& machine, const Pair& pair) const {
    Stretch stretch;
    Stretches(machine, {&pair, 1}, {&stretch, 1});
    return stretch;
  }
};

}  // namespace orrery::overlap
