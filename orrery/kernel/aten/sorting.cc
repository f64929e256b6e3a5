// Sorting, selection and running sums.
#include <array>

#include "orrery/kernel/aten/layout.h"
#include "orrery/kernel/aten/mapping.h"

namespace orrery::kernel {
namespace {

MappedOperators MapSort(const AtenCall& call) {
  const AtenTensor* input = call.TensorAt(0);
  if (input == nullptr || !input->type) {
    return std::nullopt;
  }
  return std::vector{Operator(OperatorKind::kSort, *input->type).Set(Key::kN, input->Elements())};
}

// Rows along the dimension at position `dim_at`.
std::optional<Operator> AlongRows(const AtenCall& call, OperatorKind kind, std::size_t dim_at) {
  const AtenTensor* input = call.TensorAt(0);
  if (input == nullptr || !input->type || input->dims.empty()) {
    return std::nullopt;
  }
  const std::size_t dim = DimensionIndex(call.IntegerAt(dim_at).value_or(-1), input->dims.size());
  Operator op(kind, *input->type);
  op.Set(Key::kCols, input->dims[dim]);
  op.Set(Key::kRows,
         Times(Product(input->dims, 0, dim), Product(input->dims, dim + 1, input->dims.size())));
  return op;
}

MappedOperators MapCumsum(const AtenCall& call) {
  const auto op = AlongRows(call, OperatorKind::kCumsum, 1);
  return op ? MappedOperators(std::vector{*op}) : std::nullopt;
}

MappedOperators MapTopK(const AtenCall& call) {
  auto op = AlongRows(call, OperatorKind::kTopK, 2);
  const auto k = call.IntegerAt(1);
  return op && k ? MappedOperators(std::vector{op->Set(Key::kK, *k)}) : std::nullopt;
}

constexpr auto kMappings = std::to_array<Mapping>({
    {"sort", MapSort},
    {"argsort", MapSort, true},
    {"cumsum", MapCumsum},
    {"cumprod", MapCumsum},
    {"topk", MapTopK},
});

}  // namespace

std::span<const Mapping> SortingMappings() {
  return kMappings;
}

}  // namespace orrery::kernel
