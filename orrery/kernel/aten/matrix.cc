// Matrix multiplications: strides determine which operand is transposed.
#include <array>
#include <string>

#include "orrery/kernel/aten/layout.h"
#include "orrery/kernel/aten/mapping.h"

namespace orrery::kernel {
namespace {

// An operand whose columns are contiguous and whose rows are not. Others are copied to row major by
// the framework before the multiplication.
bool IsTransposed(const AtenTensor& factor) {
  const std::size_t row = factor.dims.size() - 2;
  const std::size_t column = row + 1;
  const bool has_rows = factor.dims[column] == 1 || factor.Stride(column) == 1;
  return !has_rows && (factor.dims[row] == 1 || factor.Stride(row) == 1);
}

std::string LayoutOf(const AtenTensor& a, const AtenTensor& b) {
  return std::string(IsTransposed(a) ? "t" : "n") + (IsTransposed(b) ? "t" : "n");
}

DataType GemmType(const AtenCall& call, DataType type) {
  return type == DataType::kFp32 && call.products_allow_tf32 ? DataType::kTf32 : type;
}

// The operands are at `left` and `left` + 1; an argument before them is added.
MappedOperators MapGemm(const AtenCall& call, std::size_t left) {
  const AtenTensor* a = call.TensorAt(left, 2);
  const AtenTensor* b = call.TensorAt(left + 1, 2);
  if (a == nullptr || b == nullptr || !a->type || a->dims[1] != b->dims[0]) {
    return std::nullopt;
  }
  Operator op(OperatorKind::kGemm, GemmType(call, *a->type));
  op.Set(Key::kM, a->dims[0]).Set(Key::kN, b->dims[1]).Set(Key::kK, a->dims[1]);
  op.Set(Key::kLayout, LayoutOf(*a, *b));
  op.Set(Key::kBias, left == 1 && call.TensorAt(0, 1) != nullptr ? 1 : 0);
  return std::vector{op};
}

MappedOperators MapBatchedGemm(const AtenCall& call, std::size_t left) {
  const AtenTensor* a = call.TensorAt(left, 3);
  const AtenTensor* b = call.TensorAt(left + 1, 3);
  if (a == nullptr || b == nullptr || !a->type || a->dims[2] != b->dims[1]) {
    return std::nullopt;
  }
  Operator op(OperatorKind::kBatchedGemm, GemmType(call, *a->type));
  op.Set(Key::kB, a->dims[0]).Set(Key::kM, a->dims[1]);
  op.Set(Key::kN, b->dims[2]).Set(Key::kK, a->dims[2]).Set(Key::kLayout, LayoutOf(*a, *b));
  return std::vector{op};
}

MappedOperators MapMm(const AtenCall& call) {
  return MapGemm(call, 0);
}

MappedOperators MapAddmm(const AtenCall& call) {
  return MapGemm(call, 1);
}

MappedOperators MapBmm(const AtenCall& call) {
  return MapBatchedGemm(call, 0);
}

MappedOperators MapBaddbmm(const AtenCall& call) {
  return MapBatchedGemm(call, 1);
}

// A matrix and a vector, which is a matrix of one column.
MappedOperators MapMv(const AtenCall& call) {
  const AtenTensor* matrix = call.TensorAt(0, 2);
  if (matrix == nullptr || !matrix->type || call.TensorAt(1, 1) == nullptr) {
    return std::nullopt;
  }
  Operator op(OperatorKind::kGemm, GemmType(call, *matrix->type));
  op.Set(Key::kM, matrix->dims[0]).Set(Key::kN, 1).Set(Key::kK, matrix->dims[1]);
  op.Set(Key::kLayout, IsTransposed(*matrix) ? "tn" : "nn");
  return std::vector{op};
}

// Rows of k times the transpose of the n × k weight, and a bias.
MappedOperators MapLinear(const AtenCall& call) {
  const AtenTensor* rows = call.TensorAt(0);
  const AtenTensor* weight = call.TensorAt(1, 2);
  if (rows == nullptr || weight == nullptr || !rows->type || rows->dims.empty() ||
      rows->dims.back() != weight->dims[1]) {
    return std::nullopt;
  }
  Operator op(OperatorKind::kGemm, GemmType(call, *rows->type));
  op.Set(Key::kM, Product(rows->dims, 0, rows->dims.size() - 1));
  op.Set(Key::kN, weight->dims[0]).Set(Key::kK, weight->dims[1]).Set(Key::kLayout, "nt");
  op.Set(Key::kBias, call.TensorAt(2) != nullptr ? 1 : 0);
  return std::vector{op};
}

// Rows of all groups, then a weight for each group.
MappedOperators MapGrouped(const AtenCall& call) {
  const AtenTensor* rows = call.TensorAt(0, 2);
  const AtenTensor* weights = call.TensorAt(1, 3);
  if (rows == nullptr || weights == nullptr || !rows->type || rows->dims[1] != weights->dims[1]) {
    return std::nullopt;
  }
  Operator op(OperatorKind::kGroupedGemm, *rows->type);
  op.Set(Key::kG, weights->dims[0]).Set(Key::kM, rows->dims[0]);
  op.Set(Key::kN, weights->dims[2]).Set(Key::kK, rows->dims[1]);
  return std::vector{op};
}

constexpr auto kMappings = std::to_array<Mapping>({
    {"mm", MapMm},
    {"_scaled_mm", MapMm},
    {"addmm", MapAddmm},
    {"_addmm_activation", MapAddmm},
    {"bmm", MapBmm},
    {"baddbmm", MapBaddbmm},
    {"mv", MapMv},
    {"linear", MapLinear, true},
    {"_grouped_mm", MapGrouped},
});

}  // namespace

std::span<const Mapping> MatrixMappings() {
  return kMappings;
}

}  // namespace orrery::kernel
