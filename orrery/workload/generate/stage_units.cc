#include "orrery/workload/generate/stage_units.h"

#include <algorithm>

namespace orrery::workload {

UnitTensors LocalTensors(const std::vector<ParameterTensor>& tensors, const Plan& plan) {
  UnitTensors local;
  for (const ParameterTensor& tensor : tensors) {
    switch (tensor.spread) {
      case TensorSpread::kSplit:
        local.dense.push_back(tensor.elements / plan.tp);
        break;
      case TensorSpread::kWhole:
        local.dense.push_back(tensor.elements);
        break;
      case TensorSpread::kExpert:
        local.experts.push_back(tensor.elements / plan.expert_tp);
        break;
    }
  }
  // A rank holds the tensors of its own experts, all of which are alike.
  const std::size_t held = local.experts.size() / static_cast<std::size_t>(plan.ep);
  local.experts.resize(local.experts.empty() ? 0 : std::max<std::size_t>(held, 1));
  return local;
}

UnitTensors FrozenTensors(const std::vector<ParameterTensor>& tensors,
                          const std::vector<ParameterTensor>& adapters, const Plan& plan) {
  const RankParameters base = LocalTensors(tensors, plan).parameters();
  UnitTensors local = LocalTensors(adapters, plan);
  local.frozen = base.dense + base.experts;
  return local;
}

std::int64_t StageTensors::frozen() const {
  std::int64_t sum = 0;
  for (const std::vector<StageUnit>& chunk : *units) {
    for (const StageUnit& unit : chunk) {
      sum += (*of_kind)[unit.kind].frozen;
    }
  }
  return sum;
}

RankParameters StageTensors::parameters() const {
  RankParameters sum;
  for (const std::vector<StageUnit>& chunk : *units) {
    for (const StageUnit& unit : chunk) {
      const RankParameters own = (*of_kind)[unit.kind].parameters();
      sum.dense += own.dense;
      sum.experts += own.experts;
    }
  }
  return sum;
}

std::int64_t StageTensors::num_tensors() const {
  std::size_t count = 0;
  for (const std::vector<StageUnit>& chunk : *units) {
    for (const StageUnit& unit : chunk) {
      count += (*of_kind)[unit.kind].dense.size() + (*of_kind)[unit.kind].experts.size();
    }
  }
  return static_cast<std::int64_t>(count);
}

}  // namespace orrery::workload
