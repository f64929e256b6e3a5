// Operators over lists of tensors: fused optimizer steps and _foreach_ kernels.
#include <algorithm>
#include <array>

#include "orrery/kernel/aten/mapping.h"
#include "orrery/kernel/list_chunks.h"

namespace orrery::kernel {
namespace {

constexpr std::int64_t kVectorElements = 4;

/// Totals of a list of tensors.
struct ListSize {
  std::int64_t elements = 0;
  std::int64_t tensors = 0;
  std::int64_t chunks = 0;   // pieces of 64 Ki elements, one per block
  std::int64_t aligned = 0;  // elements of tensors that divide into vectors
  std::optional<DataType> type;
};

ListSize SizeOf(std::span<const AtenTensor> list) {
  ListSize size;
  for (const AtenTensor& tensor : list) {
    if (tensor.is_defined && tensor.on_gpu) {
      size.elements += tensor.Elements();
      size.aligned += tensor.Elements() % kVectorElements == 0 ? tensor.Elements() : 0;
      ++size.tensors;
      size.chunks += (tensor.Elements() + kListChunkElements - 1) / kListChunkElements;
      size.type = size.type ? size.type : tensor.type;
    }
  }
  return size;
}

MappedOperators MapList(const AtenCall& call, OperatorKind kind, std::string_view function) {
  const ListSize size = SizeOf(call.TensorsAt(0));
  if (!size.type) {
    return std::nullopt;
  }
  Operator op(kind, *size.type);
  op.Set(Key::kFunction, function).Set(Key::kN, size.elements).Set(Key::kTensors, size.tensors);
  op.Set(Key::kChunks, size.chunks);
  op.Set(Key::kAligned, 100 * size.aligned / std::max<std::int64_t>(size.elements, 1));
  if (kind == OperatorKind::kForeach && SizeOf(call.TensorsAt(1)).tensors > 0) {
    op.Set(Key::kLists, 2);
  }
  return std::vector{op};
}

MappedOperators MapAdamW(const AtenCall& call) {
  return MapList(call, OperatorKind::kOptimizer, "adamw");
}

MappedOperators MapAdam(const AtenCall& call) {
  return MapList(call, OperatorKind::kOptimizer, "adam");
}

MappedOperators MapSgd(const AtenCall& call) {
  return MapList(call, OperatorKind::kOptimizer, "sgd");
}

MappedOperators MapForeachAdd(const AtenCall& call) {
  return MapList(call, OperatorKind::kForeach, "add");
}

MappedOperators MapForeachMul(const AtenCall& call) {
  return MapList(call, OperatorKind::kForeach, "mul");
}

MappedOperators MapForeachNorm(const AtenCall& call) {
  return MapList(call, OperatorKind::kForeach, "norm");
}

// Kernels over lists are bound by memory: functions without a mapping count as one with as many
// lists.
constexpr auto kMappings = std::to_array<Mapping>({
    {"_fused_adamw", MapAdamW},
    {"_fused_adam", MapAdam},
    {"_fused_adagrad", MapAdam},
    {"_fused_sgd", MapSgd},
    {"_foreach_add", MapForeachAdd},
    {"_foreach_sub", MapForeachAdd},
    {"_foreach_addcdiv", MapForeachAdd},
    {"_foreach_addcmul", MapForeachAdd},
    {"_foreach_lerp", MapForeachAdd},
    {"_foreach_maximum", MapForeachAdd},
    {"_foreach_mul", MapForeachMul},
    {"_foreach_div", MapForeachMul},
    {"_foreach_copy", MapForeachMul},
    {"_foreach_sqrt", MapForeachMul},
    {"_foreach_neg", MapForeachMul},
    {"_foreach_reciprocal", MapForeachMul},
    {"_foreach_zero", MapForeachMul},
    {"_foreach_pow", MapForeachMul},
    {"_foreach_clamp_max", MapForeachMul},
    {"_foreach_clamp_min", MapForeachMul},
    {"_amp_foreach_non_finite_check_and_unscale", MapForeachMul},
    {"_foreach_norm", MapForeachNorm},
});

}  // namespace

std::span<const Mapping> OptimizerMappings() {
  return kMappings;
}

}  // namespace orrery::kernel
