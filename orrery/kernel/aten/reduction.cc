// Reductions as (outer, reduced, inner) in memory order.
#include <algorithm>
#include <array>

#include "orrery/kernel/aten/elementwise.h"
#include "orrery/kernel/aten/layout.h"
#include "orrery/kernel/aten/mapping.h"

namespace orrery::kernel {
namespace {

std::vector<bool> ReducedDims(const std::vector<std::int64_t>& listed, std::size_t num_dims) {
  std::vector<bool> is_reduced(num_dims, listed.empty());
  for (const std::int64_t dim : listed) {
    if (num_dims > 0) {
      is_reduced[DimensionIndex(dim, num_dims)] = true;
    }
  }
  return is_reduced;
}

// Dimensions after the last reduced one are inner, all other kept ones outer.
Operator Reduce(const AtenTensor& input, std::string_view function,
                const std::vector<std::int64_t>& dims) {
  const std::vector<bool> is_reduced = ReducedDims(dims, input.dims.size());
  std::int64_t outer = 1;
  std::int64_t reduced = 1;
  std::int64_t inner = 1;
  for (const std::size_t dim : MemoryOrder(input)) {
    if (is_reduced[dim]) {
      reduced = Times(reduced, input.dims[dim]);
      outer = Times(outer, inner);
      inner = 1;
    } else {
      inner = Times(inner, input.dims[dim]);
    }
  }
  Operator op(OperatorKind::kReduce, *input.type);
  op.Set(Key::kFunction, function);
  // An empty tensor needs no kernel.
  op.Set(Key::kReduced, input.Elements() == 0 ? 0 : reduced);
  if (reduced == 1) {
    return op.Set(Key::kOuter, inner).Set(Key::kInner, 1);
  }
  return op.Set(Key::kOuter, outer).Set(Key::kInner, inner);
}

MappedOperators MapReduction(const AtenCall& call, std::string_view function, std::size_t dims_at) {
  const AtenTensor* input = call.TensorAt(0);
  if (input == nullptr || !input->type) {
    return std::nullopt;
  }
  return std::vector{Reduce(*input, function, call.IntegersAt(dims_at))};
}

MappedOperators MapSum(const AtenCall& call) {
  return MapReduction(call, "sum", 1);
}

MappedOperators MapMean(const AtenCall& call) {
  return MapReduction(call, "mean", 1);
}

// With a second tensor it is the element-wise maximum.
MappedOperators MapMax(const AtenCall& call) {
  return call.TensorAt(1) != nullptr ? ElementwiseOperator(call, "other")
                                     : MapReduction(call, "max", 1);
}

MappedOperators MapNorm(const AtenCall& call) {
  return MapReduction(call, "norm", 2);
}

MappedOperators MapVariance(const AtenCall& call) {
  return MapReduction(call, "norm", 1);
}

constexpr auto kMappings = std::to_array<Mapping>({
    {"sum", MapSum},
    {"nansum", MapSum},
    {"prod", MapSum},
    {"mean", MapMean},
    {"max", MapMax},
    {"min", MapMax},
    {"amax", MapMax},
    {"amin", MapMax},
    {"argmax", MapMax},
    {"argmin", MapMax},
    {"any", MapMax},
    {"all", MapMax},
    {"var", MapVariance},
    {"std", MapVariance},
    {"var_mean", MapVariance},
    {"norm", MapNorm},
    {"linalg_vector_norm", MapNorm},
});

}  // namespace

std::span<const Mapping> ReductionMappings() {
  return kMappings;
}

}  // namespace orrery::kernel
