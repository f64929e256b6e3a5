#pragma once

#include "orrery/hardware/gpu.h"
#include "orrery/kernel/operator.h"
#include "orrery/kernel/work.h"

namespace orrery::kernel {

/// The lower bounds of an operator's time from a GPU's specification.
struct Bound {
  double compute_seconds = 0;
  double memory_seconds = 0;

  [[nodiscard]] double Seconds() const {
    return compute_seconds > memory_seconds ? compute_seconds : memory_seconds;
  }
};

/// Matrix multiplications run at the peak of their type (that of the next wider type where the GPU
/// lists none), everything else at the fp32 peak; bytes move at the memory's bandwidth, or the host
/// link's.
[[nodiscard]] Bound BoundOf(const Operator& op, const Work& work, const hardware::Gpu& gpu);

}  // namespace orrery::kernel
