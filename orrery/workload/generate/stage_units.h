#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "orrery/workload/job/job.h"
#include "orrery/workload/model/parameters.h"

namespace orrery::workload {

/// Parameters of a unit on one rank.
struct LocalParameters {
  std::int64_t dense = 0;    // the same on all data-parallel ranks
  std::int64_t experts = 0;  // the same on ranks that hold the same experts
  std::int64_t tensors = 0;

  LocalParameters& operator+=(const LocalParameters& other) {
    dense += other.dense;
    experts += other.experts;
    tensors += other.tensors;
    return *this;
  }
};

/// What one rank has of a part that has so many parameters.
[[nodiscard]] LocalParameters LocalPart(const PartParameters& part, const Plan& plan,
                                        std::int64_t tensors);

/// One unit of a stage, in order.
struct StageUnit {
  std::size_t kind = 0;     // index of the priced units
  bool recomputes = false;  // all of it
  LocalParameters parameters = {};
};

/// The units of each chunk of a device.
using StageUnits = std::vector<std::vector<StageUnit>>;

}  // namespace orrery::workload
