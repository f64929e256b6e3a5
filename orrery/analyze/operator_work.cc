#include "orrery/analyze/operator_work.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/columns.h"
#include "orrery/base/data_type.h"
#include "orrery/trace/shape_text.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

namespace orrery::analyze {
namespace {

using trace::ArrayItems;
using trace::Unquoted;

// The numbers of "[4, 8]"; nothing when an item is no size.
std::optional<std::vector<std::int64_t>> ParseSizes(std::string_view text) {
  auto sizes = trace::IntegerItems(text);
  const auto is_negative = [](std::int64_t size) { return size < 0; };
  return sizes && std::ranges::none_of(*sizes, is_negative) ? std::move(sizes) : std::nullopt;
}

using Dims = std::vector<std::int64_t>;

// Adds what is moved to the FLOPs: the inputs, and an output of the first input's type.
std::optional<OperatorWork> Finish(double flops, const std::vector<const TensorInput*>& inputs,
                                   double output_elements) {
  const DataType type = inputs.front()->type;
  const std::int64_t element_bytes = SizeInBytes(1, type);
  if (element_bytes < 0) {
    return std::nullopt;
  }
  double bytes = output_elements * static_cast<double>(element_bytes);
  for (const TensorInput* const input : inputs) {
    const auto read = input->Bytes();
    if (!read) {
      return std::nullopt;
    }
    bytes += *read;
  }
  return OperatorWork{.flops = flops, .bytes = bytes, .type = type};
}

// [batch,] m × k times [batch,] k × n, the factors at positions `left` and `left` + 1; what comes
// before them is added.
std::optional<OperatorWork> Gemm(const OperatorInputs& inputs, std::size_t left,
                                 std::size_t num_dims) {
  const TensorInput* const a = inputs.TensorAt(left, num_dims);
  const TensorInput* const b = inputs.TensorAt(left + 1, num_dims);
  if (a == nullptr || b == nullptr || a->dims.back() != b->dims[num_dims - 2]) {
    return std::nullopt;
  }
  const auto columns = static_cast<double>(b->dims.back());
  const double output =
      a->Elements() / static_cast<double>(std::max<std::int64_t>(a->dims.back(), 1)) * columns;
  std::vector<const TensorInput*> read{a, b};
  if (left == 1 && inputs.TensorAt(0) != nullptr) {
    read.push_back(inputs.TensorAt(0));
  }
  return Finish(2 * a->Elements() * columns, read, output);
}

// Rows of k times the transpose of n × k, and a bias of n.
std::optional<OperatorWork> Linear(const OperatorInputs& inputs) {
  const TensorInput* const rows = inputs.TensorAt(0);
  const TensorInput* const weight = inputs.TensorAt(1, 2);
  if (rows == nullptr || weight == nullptr || rows->dims.empty() ||
      rows->dims.back() != weight->dims[1] || rows->dims.back() == 0) {
    return std::nullopt;
  }
  const auto columns = static_cast<double>(weight->dims[0]);
  std::vector<const TensorInput*> read{rows, weight};
  if (const TensorInput* const bias = inputs.TensorAt(2)) {
    read.push_back(bias);
  }
  return Finish(2 * rows->Elements() * columns, read,
                rows->Elements() / static_cast<double>(rows->dims.back()) * columns);
}

/// The argument positions of a convolution's settings in an operator.
struct ConvolutionForm {
  std::string_view name;
  std::size_t stride;
  std::size_t padding;
  std::size_t dilation;
  std::size_t transposed;  // 0: it never is
};

constexpr std::array<ConvolutionForm, 5> kConvolutions{{{"convolution", 3, 4, 5, 6},
                                                        {"_convolution", 3, 4, 5, 6},
                                                        {"conv2d", 3, 4, 5, 0},
                                                        {"cudnn_convolution", 3, 2, 4, 0},
                                                        {"miopen_convolution", 4, 3, 5, 0}}};

// A setting of one number counts for all dimensions.
std::int64_t SettingAt(const Dims& settings, std::size_t dimension) {
  return settings.size() == 1 ? settings.front() : settings[dimension];
}

bool FitsDimensions(const Dims& settings, std::size_t num_spatial) {
  return settings.size() == 1 || settings.size() == num_spatial;
}

// Input N × C × …, weight K × C/groups × …: each element of the output is a product over the
// weights of one of the K filters.
std::optional<OperatorWork> Convolution(const OperatorInputs& inputs, const ConvolutionForm& form) {
  const TensorInput* const input = inputs.TensorAt(0);
  const TensorInput* const weight = inputs.TensorAt(1);
  if (input == nullptr || weight == nullptr || input->dims.size() < 3 ||
      weight->dims.size() != input->dims.size() || weight->dims.front() == 0 ||
      (form.transposed != 0 && inputs.IsTrueAt(form.transposed))) {
    return std::nullopt;
  }
  const std::size_t num_spatial = input->dims.size() - 2;
  const Dims stride = inputs.IntegersAt(form.stride);
  const Dims padding = inputs.IntegersAt(form.padding);
  const Dims dilation = inputs.IntegersAt(form.dilation);
  if (!FitsDimensions(stride, num_spatial) || !FitsDimensions(padding, num_spatial) ||
      !FitsDimensions(dilation, num_spatial)) {
    return std::nullopt;
  }
  double output = static_cast<double>(input->dims[0]) * static_cast<double>(weight->dims[0]);
  for (std::size_t i = 0; i < num_spatial; ++i) {
    const std::int64_t span = SettingAt(dilation, i) * (weight->dims[i + 2] - 1) + 1;
    const std::int64_t room = input->dims[i + 2] + 2 * SettingAt(padding, i) - span;
    if (room < 0 || SettingAt(stride, i) < 1) {
      return std::nullopt;
    }
    const std::int64_t places = room / SettingAt(stride, i) + 1;
    output *= static_cast<double>(places);
  }
  const double filter = weight->Elements() / static_cast<double>(weight->dims[0]);
  return Finish(2 * output * filter, {input, weight}, output);
}

/// The argument positions of the key length and the causal flag in an attention operator.
struct AttentionForm {
  std::string_view name;
  std::size_t length_dimension;
  std::size_t causal;
};

constexpr std::array<AttentionForm, 5> kAttention{
    {{"_scaled_dot_product_flash_attention", 2, 4},
     {"_scaled_dot_product_cudnn_attention", 2, 6},
     {"_scaled_dot_product_efficient_attention", 2, 6},
     {"_cudnn_attention_forward", 2, 10},
     {"_flash_attention_forward", 1, 8}}};

// Each query meets each key (half of them when causal): a product for the score and one for the
// value, two FLOPs for each of its numbers.
std::optional<OperatorWork> Attention(const OperatorInputs& inputs, const AttentionForm& form) {
  const TensorInput* const query = inputs.TensorAt(0, 4);
  const TensorInput* const key = inputs.TensorAt(1, 4);
  const TensorInput* const value = inputs.TensorAt(2, 4);
  if (query == nullptr || key == nullptr || value == nullptr) {
    return std::nullopt;
  }
  const auto length = static_cast<double>(key->dims[form.length_dimension]);
  const double share = inputs.IsTrueAt(form.causal) ? 0.5 : 1.0;
  return Finish(4 * share * query->Elements() * length, {query, key, value}, query->Elements());
}

// In order. Comparisons are not here: their output has another type than their inputs.
constexpr std::array<std::string_view, 35> kElementwise{
    "abs",   "add",           "addcdiv",    "addcmul",       "bitwise_and",
    "clamp", "cos",           "div",        "erf",           "exp",
    "gelu",  "gelu_backward", "hardtanh",   "leaky_relu",    "lerp",
    "log",   "masked_fill",   "maximum",    "minimum",       "mul",
    "neg",   "pow",           "reciprocal", "relu",          "rsqrt",
    "rsub",  "sigmoid",       "silu",       "silu_backward", "sin",
    "sqrt",  "sub",           "tanh",       "tanh_backward", "threshold_backward"};
static_assert(std::ranges::is_sorted(kElementwise));

std::optional<OperatorWork> Elementwise(const OperatorInputs& inputs) {
  const auto tensors = inputs.Tensors();
  if (tensors.empty()) {
    return std::nullopt;
  }
  // Shapes are laid over each other from the right; the larger of two sizes wins.
  Dims from_the_right;
  for (const TensorInput* const tensor : tensors) {
    from_the_right.resize(std::max(from_the_right.size(), tensor->dims.size()), 1);
    for (std::size_t i = 0; i < tensor->dims.size(); ++i) {
      std::int64_t& size = from_the_right[i];
      const std::int64_t other = tensor->dims[tensor->dims.size() - 1 - i];
      size = size == 1 ? other : size;
    }
  }
  const double output = TensorInput{from_the_right}.Elements();
  return Finish(output, tensors, output);
}

template <typename Forms>
const auto* FormOf(const Forms& forms, std::string_view name) {
  const auto found =
      std::ranges::find_if(forms, [&](const auto& form) { return form.name == name; });
  return found == forms.end() ? nullptr : &*found;
}

}  // namespace

double TensorInput::Elements() const {
  double elements = 1;
  for (const std::int64_t dim : dims) {
    elements *= static_cast<double>(dim);
  }
  return elements;
}

std::optional<double> TensorInput::Bytes() const {
  const std::int64_t size = SizeInBytes(1, type);
  return size < 0 ? std::nullopt : std::optional(Elements() * static_cast<double>(size));
}

OperatorInputs::OperatorInputs(const trace::Trace& trace, RowId host_op) {
  const trace::HostOps& operators = trace.host_ops;
  const auto shapes = ArrayItems(trace.Text(operators.input_dims[host_op]));
  const auto types = ArrayItems(trace.Text(operators.input_types[host_op]));
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    // Shapes of scalars and of what was left out are empty too; only the type identifies a tensor.
    auto dims = ParseSizes(shapes[i]);
    const DataType data_type = ParseDataType(i < types.size() ? Unquoted(types[i]) : "");
    const bool is_tensor = dims && (!dims->empty() || data_type != DataType::kUnknown);
    tensors_.push_back(
        (is_tensor ? std::optional(TensorInput{*std::move(dims), data_type}) : std::nullopt));
  }
  values_ = ArrayItems(trace.Text(operators.concrete_inputs[host_op]));
}

const TensorInput* OperatorInputs::TensorAt(std::size_t position) const {
  return position < tensors_.size() && tensors_[position] ? &*tensors_[position] : nullptr;
}

const TensorInput* OperatorInputs::TensorAt(std::size_t position, std::size_t num_dims) const {
  const TensorInput* const tensor = TensorAt(position);
  return tensor != nullptr && tensor->dims.size() == num_dims ? tensor : nullptr;
}

std::vector<const TensorInput*> OperatorInputs::Tensors() const {
  std::vector<const TensorInput*> tensors;
  for (const auto& tensor : tensors_) {
    if (tensor) {
      tensors.push_back(&*tensor);
    }
  }
  return tensors;
}

std::vector<std::int64_t> OperatorInputs::IntegersAt(std::size_t position) const {
  if (position >= values_.size()) {
    return {};
  }
  return ParseSizes(Unquoted(values_[position])).value_or(std::vector<std::int64_t>{});
}

bool OperatorInputs::IsTrueAt(std::size_t position) const {
  return position < values_.size() && Unquoted(values_[position]) == "True";
}

std::optional<OperatorWork> WorkOfOperator(std::string_view name, const OperatorInputs& inputs) {
  constexpr std::string_view kLibrary = "aten::";
  if (!name.starts_with(kLibrary)) {
    return std::nullopt;
  }
  name.remove_prefix(kLibrary.size());
  if (name == "mm" || name == "addmm") {
    return Gemm(inputs, name == "mm" ? 0 : 1, 2);
  }
  if (name == "bmm" || name == "baddbmm") {
    return Gemm(inputs, name == "bmm" ? 0 : 1, 3);
  }
  if (name == "linear") {
    return Linear(inputs);
  }
  if (const auto* const form = FormOf(kConvolutions, name)) {
    return Convolution(inputs, *form);
  }
  if (const auto* const form = FormOf(kAttention, name)) {
    return Attention(inputs, *form);
  }
  if (name == "copy_") {
    // The target is written and not read, so it is the output.
    const TensorInput* const target = inputs.TensorAt(0);
    const TensorInput* const source = inputs.TensorAt(1);
    return target == nullptr || source == nullptr ? std::nullopt : Finish(0, {target, source}, 0);
  }
  if (name == "fill_" || name == "zero_") {
    const TensorInput* const target = inputs.TensorAt(0);
    return target == nullptr ? std::nullopt : Finish(0, {target}, 0);
  }
  if (name.ends_with('_')) {
    name.remove_suffix(1);  // the form that works in place
  }
  return std::ranges::binary_search(kElementwise, name) ? Elementwise(inputs) : std::nullopt;
}

}  // namespace orrery::analyze
