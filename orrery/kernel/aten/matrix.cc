// Matrix multiplications, where strides determine which operand is transposed, and attention.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "orrery/base/data_type.h"
#include "orrery/kernel/aten/aten.h"
#include "orrery/kernel/aten/mapping.h"
#include "orrery/kernel/operator.h"

namespace orrery::kernel {
namespace {

using enum Key;

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
template <std::size_t kLeft>
MappedOperators MapGemm(const AtenCall& call) {
  const AtenTensor* a = call.TensorAt(kLeft, 2);
  const AtenTensor* b = call.TensorAt(kLeft + 1, 2);
  if (a == nullptr || b == nullptr || !a->type || a->dims[1] != b->dims[0]) {
    return std::nullopt;
  }
  Operator op(OperatorKind::kGemm, GemmType(call, *a->type));
  op.Set(kM, a->dims[0]).Set(kN, b->dims[1]).Set(kK, a->dims[1]);
  op.Set(kLayout, LayoutOf(*a, *b));
  op.Set(kBias, kLeft == 1 && call.TensorAt(0, 1) != nullptr ? 1 : 0);
  return std::vector{op};
}

template <std::size_t kLeft>
MappedOperators MapBatchedGemm(const AtenCall& call) {
  const AtenTensor* a = call.TensorAt(kLeft, 3);
  const AtenTensor* b = call.TensorAt(kLeft + 1, 3);
  if (a == nullptr || b == nullptr || !a->type || a->dims[2] != b->dims[1]) {
    return std::nullopt;
  }
  Operator op(OperatorKind::kBatchedGemm, GemmType(call, *a->type));
  op.Set(kB, a->dims[0]).Set(kM, a->dims[1]);
  op.Set(kN, b->dims[2]).Set(kK, a->dims[2]).Set(kLayout, LayoutOf(*a, *b));
  return std::vector{op};
}

MappedOperators MapMv(const AtenCall& call) {
  const AtenTensor* matrix = call.TensorAt(0, 2);
  if (matrix == nullptr || !matrix->type || call.TensorAt(1, 1) == nullptr) {
    return std::nullopt;
  }
  Operator op(OperatorKind::kGemm, GemmType(call, *matrix->type));
  op.Set(kM, matrix->dims[0]).Set(kN, 1).Set(kK, matrix->dims[1]);
  op.Set(kLayout, IsTransposed(*matrix) ? "tn" : "nn");
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
  op.Set(kM, Product(rows->dims, 0, rows->dims.size() - 1));
  op.Set(kN, weight->dims[0]).Set(kK, weight->dims[1]).Set(kLayout, "nt");
  op.Set(kBias, call.TensorAt(2) != nullptr ? 1 : 0);
  return std::vector{op};
}

// The gradient of the weights: both operands have the rows of all groups, whose ends are the third.
MappedOperators MapGroupedGradient(const AtenCall& call) {
  const AtenTensor* left = call.TensorAt(0, 2);
  const AtenTensor* right = call.TensorAt(1, 2);
  const AtenTensor* ends = call.TensorAt(2, 1);
  if (left == nullptr || right == nullptr || ends == nullptr || !left->type ||
      left->dims[1] != right->dims[0]) {
    return std::nullopt;
  }
  Operator op(OperatorKind::kGroupedGemm, *left->type);
  op.Set(kG, ends->dims[0]).Set(kM, left->dims[1]);
  op.Set(kN, right->dims[1]).Set(kK, left->dims[0]);
  return std::vector{op};
}

// Rows of all groups, then a weight for each group.
MappedOperators MapGrouped(const AtenCall& call) {
  const AtenTensor* rows = call.TensorAt(0, 2);
  const AtenTensor* weights = call.TensorAt(1, 3);
  if (weights == nullptr) {
    return MapGroupedGradient(call);
  }
  if (rows == nullptr || weights == nullptr || !rows->type || rows->dims[1] != weights->dims[1]) {
    return std::nullopt;
  }
  Operator op(OperatorKind::kGroupedGemm, *rows->type);
  op.Set(kG, weights->dims[0]).Set(kM, rows->dims[0]);
  op.Set(kN, weights->dims[2]).Set(kK, rows->dims[1]);
  return std::vector{op};
}

constexpr auto kGemmMappings = std::to_array<Mapping>({
    {"mm _scaled_mm", MapGemm<0>},
    {"addmm _addmm_activation", MapGemm<1>},
    {"bmm", MapBatchedGemm<0>},
    {"baddbmm", MapBatchedGemm<1>},
    {"mv", MapMv},
    {"linear", MapLinear, true},
    {"_grouped_mm", MapGrouped},
});

struct AttentionForm {
  std::string_view name;
  std::string_view backend;
  bool is_backward;
  bool heads_before_length;  // batch × heads × length × size, else batch × length × heads × size
  std::size_t dropout;       // positions
  std::size_t causal;
  std::size_t ends = 0;  // of packed sequences, the begins and the last end; 0: none
};

constexpr auto kAttentionForms = std::to_array<AttentionForm>({
    {"_cudnn_attention_forward", "cudnn", false, true, 9, 10},
    {"_cudnn_attention_backward", "cudnn", true, true, 13, 14},
    {"_flash_attention_forward", "flash", false, false, 7, 8, 3},
    {"_flash_attention_backward", "flash", true, false, 10, 11, 6},
    {"_efficient_attention_forward", "efficient", false, false, 8, 9, 4},
    {"_efficient_attention_backward", "efficient", true, false, 11, 14, 6},
    {"_scaled_dot_product_cudnn_attention", "cudnn", false, true, 5, 6},
    {"_scaled_dot_product_cudnn_attention_backward", "cudnn", true, true, 13, 14},
    {"_scaled_dot_product_flash_attention", "flash", false, true, 3, 4},
    {"_scaled_dot_product_flash_attention_backward", "flash", true, true, 10, 11},
    {"_scaled_dot_product_efficient_attention", "efficient", false, true, 5, 6},
    {"_scaled_dot_product_efficient_attention_backward", "efficient", true, true, 9, 11},
    {"scaled_dot_product_attention", "auto", false, true, 4, 5},
});

// Sequences of different lengths, one behind the other, as a batch of their mean length.
std::optional<AtenTensor> Unpacked(const AtenTensor* rows, const AtenTensor* ends) {
  if (rows == nullptr || rows->dims.size() < 3) {
    return std::nullopt;
  }
  AtenTensor batch = *rows;
  const std::size_t length = rows->dims.size() - 3;
  const bool is_packed = ends != nullptr && ends->Elements() > 1;
  if (is_packed && (length == 0 || rows->dims[0] == 1)) {
    const std::int64_t sequences = ends->Elements() - 1;
    const std::int64_t mean = std::max<std::int64_t>(rows->dims[length] / sequences, 1);
    batch.dims = {sequences, mean, rows->dims[length + 1], rows->dims[length + 2]};
  }
  return batch.dims.size() == 4 ? std::optional(batch) : std::nullopt;
}

MappedOperators MapAttention(const AtenCall& call) {
  const AttentionForm* form =
      std::ranges::find(kAttentionForms, PlainName(call.name), &AttentionForm::name);
  // The backward pass has the gradient of the result before the query.
  const std::size_t query_at = form->is_backward ? 1 : 0;
  const bool may_be_packed = form->ends > 0;
  const auto query = Unpacked(call.TensorAt(query_at),
                              may_be_packed ? call.TensorAt(form->ends) : nullptr);
  const auto key = Unpacked(call.TensorAt(query_at + 1),
                            may_be_packed ? call.TensorAt(form->ends + 1) : nullptr);
  if (!query || !key || !query->type) {
    return std::nullopt;
  }
  const std::size_t heads = form->heads_before_length ? 1 : 2;
  const std::size_t length = form->heads_before_length ? 2 : 1;
  Operator op(OperatorKind::kAttention, *query->type);
  op.Set(kB, query->dims[0]).Set(kHeads, query->dims[heads]);
  op.Set(kKvHeads, key->dims[heads]).Set(kHeadSize, query->dims[3]);
  op.Set(kQueryLength, query->dims[length]).Set(kKeyLength, key->dims[length]);
  op.Set(kCausal, call.IsTrueAt(form->causal) ? 1 : 0);
  op.Set(kDropout, call.NumberAt(form->dropout).value_or(0) > 0 ? 1 : 0);
  op.Set(kBackend, form->backend).Set(kPass, form->is_backward ? "bwd" : "fwd");
  return std::vector{op};
}

constexpr auto kAttentionMappings = [] {
  std::array<Mapping, kAttentionForms.size()> mappings{};
  for (std::size_t i = 0; i < kAttentionForms.size(); ++i) {
    // The public operators only add layout copies, which are nested calls.
    const bool only_passes_on =
        kAttentionForms[i].name.find("scaled_dot_product") != std::string_view::npos;
    mappings[i] = {kAttentionForms[i].name, MapAttention, only_passes_on};
  }
  return mappings;
}();

}  // namespace

std::span<const Mapping> AttentionMappings() {
  return kAttentionMappings;
}

std::span<const Mapping> MatrixMappings() {
  return kGemmMappings;
}

}  // namespace orrery::kernel
