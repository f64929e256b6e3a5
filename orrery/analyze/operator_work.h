#pragma once

#include <optional>
#include <string_view>

#include "orrery/analyze/operator_inputs.h"
#include "orrery/trace/enums.h"

namespace orrery::analyze {

/// What an operator has to compute and to move at least: each input read and the output written
/// once.
struct OperatorWork {
  double flops = 0;
  double bytes = 0;
  trace::DataType type = trace::DataType::kUnknown;  // of the first input

  bool operator==(const OperatorWork&) const = default;
};

/// Derives the work of a call from its shapes: matrix products (mm, addmm, bmm, baddbmm, linear),
/// forward convolutions, forward attention (half of it when causal) and element-wise operators (one
/// FLOP for each element of the output). A multiplication and its addition are two FLOPs. Nothing
/// for other operators and where shapes or types are missing.
[[nodiscard]] std::optional<OperatorWork> WorkOfOperator(std::string_view name,
                                                         const OperatorInputs& inputs);

}  // namespace orrery::analyze
