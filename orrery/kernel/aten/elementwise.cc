#include "orrery/kernel/aten/elementwise.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "orrery/kernel/aten/layout.h"

namespace orrery::kernel {
namespace {

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

// Without recorded outputs, the largest input has the shape of the result.
const AtenTensor* ResultOf(const AtenCall& call, const std::vector<const AtenTensor*>& operands) {
  if (call.Output() != nullptr) {
    return call.Output();
  }
  const auto largest = std::max_element(operands.begin(), operands.end(),
                                        [](const AtenTensor* lhs, const AtenTensor* rhs) {
                                          return lhs->Elements() < rhs->Elements();
                                        });
  return largest == operands.end() ? nullptr : *largest;
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

bool AreSame(const AtenTensor& lhs, const AtenTensor& rhs) {
  return lhs.storage && lhs.storage == rhs.storage && lhs.offset == rhs.offset &&
         HaveSameLayout(lhs, rhs);
}

// A tensor that is passed twice, as in a square, is read once.
std::int64_t ReadBytes(const std::vector<const AtenTensor*>& operands, const AtenTensor& result) {
  std::int64_t bytes = 0;
  for (auto operand = operands.begin(); operand != operands.end(); ++operand) {
    const bool is_full = (*operand)->Elements() == result.Elements() && !IsExpanded(**operand);
    const bool is_again = std::any_of(operands.begin(), operand, [&](const AtenTensor* before) {
      return AreSame(*before, **operand);
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

struct NamedFunction {
  std::string_view name;
  std::string_view function;
};

// Sorted by name.
constexpr auto kFunctions = std::to_array<NamedFunction>({
    {"abs", "abs"},
    {"add", "add"},
    {"addcdiv", "addcdiv"},
    {"addcmul", "addcmul"},
    {"bernoulli", "other"},
    {"bitwise_and", "other"},
    {"bitwise_not", "other"},
    {"bitwise_or", "other"},
    {"bitwise_xor", "other"},
    {"ceil", "other"},
    {"clamp", "clamp"},
    {"clamp_max", "clamp"},
    {"clamp_min", "clamp"},
    {"cos", "cos"},
    {"div", "div"},
    {"elu", "other"},
    {"elu_backward", "other"},
    {"eq", "compare"},
    {"erf", "other"},
    {"exp", "exp"},
    {"exp2", "exp"},
    {"floor", "other"},
    {"floor_divide", "div"},
    {"fmod", "other"},
    {"ge", "compare"},
    {"gelu", "gelu"},
    {"gelu_backward", "gelu_backward"},
    {"gt", "compare"},
    {"hardsigmoid", "other"},
    {"hardswish", "other"},
    {"hardswish_backward", "other"},
    {"hardtanh", "clamp"},
    {"hardtanh_backward", "relu_backward"},
    {"isfinite", "compare"},
    {"isinf", "compare"},
    {"isnan", "compare"},
    {"le", "compare"},
    {"leaky_relu", "relu"},
    {"leaky_relu_backward", "relu_backward"},
    {"lerp", "lerp"},
    {"log", "log"},
    {"log1p", "log"},
    {"log2", "log"},
    {"log_sigmoid_backward", "other"},
    {"log_sigmoid_forward", "other"},
    {"logical_and", "compare"},
    {"logical_not", "compare"},
    {"logical_or", "compare"},
    {"lt", "compare"},
    {"masked_fill", "masked_fill"},
    {"maximum", "other"},
    {"minimum", "other"},
    {"mse_loss_backward", "other"},
    {"mul", "mul"},
    {"nan_to_num", "other"},
    {"ne", "compare"},
    {"neg", "neg"},
    {"reciprocal", "reciprocal"},
    {"relu", "relu"},
    {"remainder", "other"},
    {"round", "other"},
    {"rsqrt", "rsqrt"},
    {"rsub", "sub"},
    {"sigmoid", "sigmoid"},
    {"sigmoid_backward", "sigmoid_backward"},
    {"sign", "other"},
    {"silu", "silu"},
    {"silu_backward", "silu_backward"},
    {"sin", "sin"},
    {"softplus", "other"},
    {"softplus_backward", "other"},
    {"sqrt", "sqrt"},
    {"sub", "sub"},
    {"tanh", "tanh"},
    {"tanh_backward", "tanh_backward"},
    {"threshold_backward", "relu_backward"},
    {"tril", "other"},
    {"triu", "other"},
    {"trunc", "other"},
    {"where", "where"},
});
static_assert(std::ranges::is_sorted(kFunctions, {}, &NamedFunction::name));

MappedOperators MapNamed(const AtenCall& call) {
  const auto found =
      std::ranges::lower_bound(kFunctions, PlainName(call.name), {}, &NamedFunction::name);
  return ElementwiseOperator(call, found->function);
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
  return std::vector{Operator(OperatorKind::kCopy, *base->type).Set(Key::kN, base->Elements())};
}

constexpr std::array<Mapping, kFunctions.size() + 1> kMappings = [] {
  std::array<Mapping, kFunctions.size() + 1> mappings{};
  for (std::size_t i = 0; i < kFunctions.size(); ++i) {
    const bool is_gelu = kFunctions[i].name.starts_with("gelu");
    mappings[i] = {kFunctions[i].name, is_gelu ? MapGelu : MapNamed};
  }
  mappings.back() = {"pow", MapPow};
  return mappings;
}();

}  // namespace

MappedOperators ElementwiseOperator(const AtenCall& call, std::string_view function) {
  const std::vector<const AtenTensor*> operands = Operands(call);
  const AtenTensor* result = ResultOf(call, operands);
  if (result == nullptr) {
    return std::nullopt;
  }
  const auto type = ComputeType(operands, *result);
  if (!type) {
    return std::nullopt;
  }
  Operator op(OperatorKind::kElementwise, *type);
  op.Set(Key::kFunction, function).Set(Key::kN, result->Elements());
  op.Set(Key::kReadBytes, ReadBytes(operands, *result));
  op.Set(Key::kWriteBytes, WriteBytes(call, *result, function));
  op.Set(Key::kMode, ModeOf(operands, *result));
  return std::vector{op};
}

std::span<const Mapping> ElementwiseMappings() {
  return kMappings;
}

}  // namespace orrery::kernel
