#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "orrery/workload/plan/parameter_tensors.h"
#include "orrery/workload/plan/plan.h"
#include "orrery/workload/plan/state_memory.h"

namespace orrery::workload {

/// Elements of the tensors of a unit on one rank, in definition order.
struct UnitTensors {
  std::vector<std::int64_t> dense = {};    // the same on all data-parallel ranks
  std::vector<std::int64_t> experts = {};  // the same on ranks that hold the same experts
  std::int64_t frozen = 0;                 // parameters that are not trained

  [[nodiscard]] RankParameters parameters() const {
    return {std::accumulate(dense.begin(), dense.end(), std::int64_t{0}),
            std::accumulate(experts.begin(), experts.end(), std::int64_t{0})};
  }
};

/// What one rank has of tensors.
[[nodiscard]] UnitTensors LocalTensors(const std::vector<ParameterTensor>& tensors,
                                       const Plan& plan);

/// The same where the tensors are frozen and only `adapters` are trained.
[[nodiscard]] UnitTensors FrozenTensors(const std::vector<ParameterTensor>& tensors,
                                        const std::vector<ParameterTensor>& adapters,
                                        const Plan& plan);

/// One unit of a stage.
struct StageUnit {
  std::size_t kind = 0;     // index of the kinds of units that the model has
  bool recomputes = false;  // all of it
};

/// The units of each chunk of a device, in the order of the model.
using StageUnits = std::vector<std::vector<StageUnit>>;

/// What a stage has to keep together with other ranks.
struct StageTensors {
  const StageUnits* units = nullptr;
  const std::vector<UnitTensors>* of_kind = nullptr;

  [[nodiscard]] const UnitTensors& At(std::size_t chunk, std::size_t unit) const {
    return (*of_kind)[(*units)[chunk][unit].kind];
  }

  [[nodiscard]] RankParameters parameters() const;  // that are trained
  [[nodiscard]] std::int64_t frozen() const;
  [[nodiscard]] std::int64_t num_tensors() const;
};

}  // namespace orrery::workload
