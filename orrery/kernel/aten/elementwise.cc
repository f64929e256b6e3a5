// Operators over lists of tensors: fused optimizer steps and _foreach_ kernels.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "orrery/base/data_type.h"
#include "orrery/kernel/aten/aten.h"
#include "orrery/kernel/aten/mapping.h"
#include "orrery/kernel/features.h"
#include "orrery/kernel/operator.h"

namespace orrery::kernel {
namespace {

using enum Key;

std::int64_t BytesOf(const AtenTensor& tensor) {
  return static_cast<std::int64_t>(ElementBytes(tensor.type.value_or(DataType::kFp32)));
}

// Forms with "out" have the result among the inputs, which is not read.
bool IsResult(const AtenCall& call, const AtenTensor& input) {
  const AtenTensor* output = call.Output();
  return output != nullptr && !call.name.ends_with('_') && output->storage && input.storage &&
         *output->storage == *input.storage && output->dims == input.dims &&
         &input != call.TensorAt(0);
}

std::vector<const AtenTensor*> Operands(const AtenCall& call) {
  std::vector<const AtenTensor*> operands;
  for (const AtenTensor* input : call.InputTensors()) {
    if (input->on_gpu && !IsResult(call, *input)) {
      operands.push_back(input);
    }
  }
  return operands;
}

/// The shape that operands are broadcast to, dimensions from the last one on; none if they do not
/// fit to each other.
std::vector<std::int64_t> BroadcastDims(const std::vector<const AtenTensor*>& operands) {
  std::vector<std::int64_t> dims;
  for (const AtenTensor* operand : operands) {
    dims.insert(dims.begin(), std::max(operand->dims.size(), dims.size()) - dims.size(), 1);
    for (std::size_t i = 1; i <= operand->dims.size(); ++i) {
      std::int64_t& dim = dims[dims.size() - i];
      const std::int64_t own = operand->dims[operand->dims.size() - i];
      if (dim != own && dim != 1 && own != 1) {
        return {};
      }
      dim = dim == 1 ? own : dim;
    }
  }
  return dims;
}

// Without recorded outputs: an operand of the shape that all are broadcast to, or a tensor of that
// shape; the largest operand where they are not broadcast to each other.
std::optional<AtenTensor> ResultOf(const AtenCall& call,
                                   const std::vector<const AtenTensor*>& operands) {
  if (call.Output() != nullptr) {
    return *call.Output();
  }
  const auto largest = std::max_element(operands.begin(), operands.end(),
                                        [](const AtenTensor* lhs, const AtenTensor* rhs) {
                                          return lhs->Elements() < rhs->Elements();
                                        });
  if (largest == operands.end()) {
    return std::nullopt;
  }
  std::vector<std::int64_t> dims = BroadcastDims(operands);
  const AtenTensor result{.dims = std::move(dims), .type = (*largest)->type};
  return result.Elements() > (*largest)->Elements() ? result : **largest;
}

std::string_view ModeOf(const std::vector<const AtenTensor*>& operands, const AtenTensor& result) {
  bool is_broadcast = false;
  bool is_strided = !IsDense(result);
  for (const AtenTensor* operand : operands) {
    if (operand->Elements() != result.Elements() || IsExpanded(*operand)) {
      is_broadcast = true;
    } else {
      is_strided = is_strided || !HaveSameLayout(*operand, result);
    }
  }
  return is_strided ? "strided" : is_broadcast ? "broadcast" : "contiguous";
}

// A tensor that is passed twice, as in a square, is read once.
std::int64_t ReadBytes(const std::vector<const AtenTensor*>& operands, const AtenTensor& result) {
  std::int64_t bytes = 0;
  for (auto operand = operands.begin(); operand != operands.end(); ++operand) {
    const bool is_full = (*operand)->Elements() == result.Elements() && !IsExpanded(**operand);
    const bool is_again = std::any_of(operands.begin(), operand, [&](const AtenTensor* before) {
      return before->storage && before->storage == (*operand)->storage &&
             before->offset == (*operand)->offset && HaveSameLayout(*before, **operand);
    });
    bytes += is_full && !is_again ? BytesOf(**operand) : 0;
  }
  return bytes;
}

std::int64_t WriteBytes(const AtenCall& call, const AtenTensor& result, std::string_view function) {
  if (call.outputs.empty()) {
    return function == "compare" ? 1 : BytesOf(result);
  }
  std::int64_t bytes = 0;
  for (const AtenTensor& output : call.outputs) {
    bytes += output.is_defined && output.Elements() == result.Elements() ? BytesOf(output) : 0;
  }
  return bytes;
}

// A comparison uses the type of its operands.
std::optional<DataType> ComputeType(const std::vector<const AtenTensor*>& operands,
                                    const AtenTensor& result) {
  if (result.type && *result.type != DataType::kBool) {
    return result.type;
  }
  return operands.empty() ? result.type : operands.front()->type;
}

struct FunctionNames {
  std::string_view function;
  std::string_view names;
};

// Operators with the name of their function, then others.
constexpr std::string_view kSameNames =
    "abs add addcdiv addcmul clamp cos div exp relu lerp log masked_fill mul neg "
    "reciprocal rsqrt sub sigmoid sigmoid_backward silu silu_backward sin sqrt tanh "
    "tanh_backward where";
constexpr auto kOtherNames = std::to_array<FunctionNames>({
    {"other",
     "_amp_update_scale bernoulli bitwise_and bitwise_not bitwise_or bitwise_xor ceil elu "
     "elu_backward erf "
     "floor fmod hardsigmoid hardswish hardswish_backward log_sigmoid_backward "
     "log_sigmoid_forward maximum minimum nan_to_num remainder round sign "
     "softplus softplus_backward tril triu trunc"},
    {"clamp", "clamp_max clamp_min hardtanh"},
    {"div", "floor_divide"},
    {"compare", "eq ge gt isfinite isinf isnan le logical_and logical_not logical_or lt ne"},
    {"exp", "exp2"},
    {"relu_backward", "hardtanh_backward leaky_relu_backward threshold_backward"},
    {"relu", "leaky_relu"},
    {"log", "log1p log2"},
    {"sub", "rsub"},
});

std::unordered_map<std::string_view, std::string_view> IndexFunctions() {
  std::unordered_map<std::string_view, std::string_view> index;
  ForEachWord(kSameNames, [&](std::string_view name) { index.emplace(name, name); });
  for (const FunctionNames& other : kOtherNames) {
    ForEachWord(other.names, [&](std::string_view name) { index.emplace(name, other.function); });
  }
  return index;
}

MappedOperators MapNamed(const AtenCall& call) {
  static const std::unordered_map<std::string_view, std::string_view> kIndex = IndexFunctions();
  return ElementwiseOperator(call, kIndex.at(PlainName(call.name)));
}

// The last argument selects the tanh approximation.
MappedOperators MapGelu(const AtenCall& call) {
  const bool is_tanh = !call.inputs.empty() && call.TextAt(call.inputs.size() - 1) == "tanh";
  const bool is_backward = PlainName(call.name).ends_with("_backward");
  if (is_tanh) {
    return ElementwiseOperator(call, is_backward ? "gelu_tanh_backward" : "gelu_tanh");
  }
  return ElementwiseOperator(call, is_backward ? "gelu_backward" : "gelu");
}

// The first power is a copy.
MappedOperators MapPow(const AtenCall& call) {
  const AtenTensor* base = call.TensorAt(0);
  if (base == nullptr || call.NumberAt(1) != 1.0 || !base->type) {
    return ElementwiseOperator(call, "pow");
  }
  return std::vector{Operator(OperatorKind::kCopy, *base->type).Set(kN, base->Elements())};
}

constexpr auto kMappings = [] {
  std::array<Mapping, kOtherNames.size() + 3> mappings{};
  mappings[0] = {kSameNames, MapNamed};
  mappings[1] = {"gelu gelu_backward", MapGelu};
  mappings[2] = {"pow", MapPow};
  for (std::size_t i = 0; i < kOtherNames.size(); ++i) {
    mappings[i + 3] = {kOtherNames[i].names, MapNamed};
  }
  return mappings;
}();

constexpr std::int64_t kVectorElements = 4;

std::int64_t CeilOf(std::int64_t count, std::int64_t size) {
  return (count + size - 1) / size;
}

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
      size.chunks += CeilOf(tensor.Elements(), kListChunkElements);
      size.type = size.type ? size.type : tensor.type;
    }
  }
  return size;
}

struct ListFunction {
  OperatorKind kind;
  std::string_view function;
};

constexpr ListFunction kAdamW = {OperatorKind::kOptimizer, "adamw"};
constexpr ListFunction kAdam = {OperatorKind::kOptimizer, "adam"};
constexpr ListFunction kSgd = {OperatorKind::kOptimizer, "sgd"};
constexpr ListFunction kAdd = {OperatorKind::kForeach, "add"};
constexpr ListFunction kMul = {OperatorKind::kForeach, "mul"};
constexpr ListFunction kNorm = {OperatorKind::kForeach, "norm"};

bool IsSameTensor(const AtenTensor& lhs, const AtenTensor& rhs) {
  return lhs.storage && lhs.storage == rhs.storage && lhs.offset == rhs.offset &&
         lhs.dims == rhs.dims;
}

// A list that is passed twice, as for a square, is read once. Counters of steps are no elements.
std::int64_t NumLists(const AtenCall& call) {
  std::vector<const AtenTensor*> firsts;
  for (std::size_t position = 0; position < call.inputs.size(); ++position) {
    const std::span<const AtenTensor> list = call.TensorsAt(position);
    const bool has_elements =
        SizeOf(list).tensors > 0 && (firsts.empty() || list.front().dims == firsts[0]->dims);
    if (has_elements && std::ranges::none_of(firsts, [&](const AtenTensor* first) {
          return IsSameTensor(*first, list.front());
        })) {
      firsts.push_back(&list.front());
    }
  }
  return std::ssize(firsts);
}

template <const ListFunction& kList>
MappedOperators MapList(const AtenCall& call) {
  const ListSize size = SizeOf(call.TensorsAt(0));
  if (!size.type) {
    return std::nullopt;
  }
  Operator op(kList.kind, *size.type);
  op.Set(kFunction, kList.function).Set(kN, size.elements).Set(kTensors, size.tensors);
  op.Set(kChunks, size.chunks);
  op.Set(kAligned, 100 * size.aligned / std::max<std::int64_t>(size.elements, 1));
  if (kList.kind == OperatorKind::kForeach) {
    // Two lists are three passes over memory, with the result; more lists are as many more.
    const std::int64_t lists = std::max<std::int64_t>(NumLists(call), 1);
    op.Set(kLists, std::min<std::int64_t>(lists, 2));
    op.Set(kN, lists > 2 ? size.elements * (lists + 1) / 3 : size.elements);
  }
  return std::vector{op};
}

// Kernels over lists are bound by memory: functions without a mapping count as one with as many
// lists.
constexpr auto kListMappings = std::to_array<Mapping>({
    {"_fused_adamw", MapList<kAdamW>},
    {"_fused_adam _fused_adagrad", MapList<kAdam>},
    {"_fused_sgd", MapList<kSgd>},
    {"_foreach_add _foreach_sub _foreach_addcdiv _foreach_addcmul _foreach_lerp _foreach_maximum",
     MapList<kAdd>},
    {"_foreach_mul _foreach_div _foreach_copy _foreach_sqrt _foreach_neg _foreach_reciprocal "
     "_foreach_zero _foreach_pow _foreach_clamp_max _foreach_clamp_min "
     "_amp_foreach_non_finite_check_and_unscale",
     MapList<kMul>},
    {"_foreach_norm", MapList<kNorm>},
});

}  // namespace

MappedOperators ElementwiseOperator(const AtenCall& call, std::string_view function) {
  const std::vector<const AtenTensor*> operands = Operands(call);
  const std::optional<AtenTensor> result = ResultOf(call, operands);
  if (!result) {
    return std::nullopt;
  }
  const auto type = ComputeType(operands, *result);
  if (!type) {
    return std::nullopt;
  }
  Operator op(OperatorKind::kElementwise, *type);
  op.Set(kFunction, function).Set(kN, result->Elements());
  op.Set(kReadBytes, ReadBytes(operands, *result));
  op.Set(kWriteBytes, WriteBytes(call, *result, function));
  op.Set(kMode, ModeOf(operands, *result));
  return std::vector{op};
}

std::int64_t ListLaunches(const AtenCall& call, const Operator& op) {
  if (op.kind() != OperatorKind::kForeach && op.kind() != OperatorKind::kOptimizer) {
    return 0;
  }
  // The most tensors of a launch, by the number of lists, and its most blocks.
  constexpr auto kTensorsOfLists = std::to_array<std::int64_t>({110, 64, 48, 36, 30});
  constexpr std::int64_t kBlocks = 320;
  const bool is_norm = op.Word(kFunction) == kNorm.function;
  const bool is_new = op.kind() == OperatorKind::kForeach && !call.name.ends_with('_') && !is_norm;
  const std::int64_t lists = NumLists(call) + (is_new ? 1 : 0);
  const auto place = static_cast<std::size_t>(std::clamp<std::int64_t>(lists, 1, 5) - 1);
  const std::int64_t of_tensors = CeilOf(op.Get(kTensors), kTensorsOfLists[place]);
  // A norm adds what blocks found in a kernel of its own.
  return std::max(of_tensors, CeilOf(op.Get(kChunks), kBlocks)) + (is_norm ? 1 : 0);
}

std::span<const Mapping> ElementwiseMappings() {
  return kMappings;
}

std::span<const Mapping> ListMappings() {
  return kListMappings;
}

}  // namespace orrery::kernel
