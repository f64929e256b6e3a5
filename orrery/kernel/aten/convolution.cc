// Convolutions over images (and over sequences, which the framework passes as images of height
// one).
#include <algorithm>
#include <array>

#include "orrery/kernel/aten/layout.h"
#include "orrery/kernel/aten/mapping.h"

namespace orrery::kernel {
namespace {

constexpr std::size_t kNowhere = ~std::size_t{0};

/// Positions of an operator's arguments.
struct ConvolutionForm {
  std::string_view name;
  std::size_t input = 0;
  std::size_t stride = kNowhere;
  std::size_t padding = kNowhere;
  std::size_t dilation = kNowhere;
  std::size_t groups = kNowhere;
  std::size_t transposed = kNowhere;
  std::size_t allow_tf32 = kNowhere;
  std::size_t output_mask = kNowhere;
};

constexpr auto kForms = std::to_array<ConvolutionForm>({
    {.name = "cudnn_convolution",
     .stride = 3,
     .padding = 2,
     .dilation = 4,
     .groups = 5,
     .allow_tf32 = 8},
    {.name = "miopen_convolution", .stride = 4, .padding = 3, .dilation = 5, .groups = 6},
    {.name = "_conv_depthwise2d", .stride = 4, .padding = 5, .dilation = 6},
    {.name = "convolution", .stride = 3, .padding = 4, .dilation = 5, .groups = 8, .transposed = 6},
    {.name = "_convolution",
     .stride = 3,
     .padding = 4,
     .dilation = 5,
     .groups = 8,
     .transposed = 6,
     .allow_tf32 = 12},
    {.name = "conv1d", .stride = 3, .padding = 4, .dilation = 5, .groups = 6},
    {.name = "conv2d", .stride = 3, .padding = 4, .dilation = 5, .groups = 6},
    {.name = "convolution_backward",
     .input = 1,
     .stride = 4,
     .padding = 5,
     .dilation = 6,
     .groups = 9,
     .transposed = 7,
     .output_mask = 10},
});

const ConvolutionForm* FindForm(std::string_view name) {
  const auto found = std::find_if(kForms.begin(), kForms.end(),
                                  [&](const ConvolutionForm& form) { return form.name == name; });
  return found == kForms.end() ? nullptr : &*found;
}

// The last element of a list such as a stride: sequences use it, and images in common networks have
// equal elements.
std::int64_t LastOf(const AtenCall& call, std::size_t position, std::int64_t otherwise) {
  const std::vector<std::int64_t> settings = call.IntegersAt(position);
  return settings.empty() ? otherwise : settings.back();
}

DataType TypeOf(const AtenCall& call, const ConvolutionForm& form, DataType type) {
  const bool allows_tf32 =
      call.IntegerAt(form.allow_tf32).value_or(call.convolutions_allow_tf32 ? 1 : 0) != 0;
  return type == DataType::kFp32 && allows_tf32 ? DataType::kTf32 : type;
}

// Depthwise convolutions do not contain their groups: the weight has one channel.
std::int64_t GroupsOf(const AtenCall& call, const ConvolutionForm& form, const AtenTensor& input,
                      const AtenTensor& weight) {
  const std::int64_t channels = std::max<std::int64_t>(weight.dims[1], 1);
  return call.IntegerAt(form.groups).value_or(std::max<std::int64_t>(input.dims[1] / channels, 1));
}

Operator BaseOperator(const AtenCall& call, const ConvolutionForm& form, const AtenTensor& input,
                      const AtenTensor& weight) {
  const std::size_t width = input.dims.size() - 1;
  const bool is_image =
      input.dims.size() == 4 && (input.dims[2] != 1 || weight.dims[2] != 1 || input.dims[3] == 1);
  Operator op(is_image ? OperatorKind::kConv : OperatorKind::kConv1d,
              TypeOf(call, form, *input.type));
  op.Set(Key::kB, input.dims[0]).Set(Key::kC, input.dims[1]);
  op.Set(Key::kOutChannels, weight.dims[0]);
  op.Set(Key::kWidth, input.dims[width]).Set(Key::kKernelWidth, weight.dims[width]);
  op.Set(Key::kStride, LastOf(call, form.stride, 1)).Set(Key::kPad, LastOf(call, form.padding, 0));
  op.Set(Key::kDilation, LastOf(call, form.dilation, 1));
  op.Set(Key::kGroups, GroupsOf(call, form, input, weight));
  if (is_image) {
    op.Set(Key::kHeight, input.dims[2]).Set(Key::kKernelHeight, weight.dims[2]);
    op.Set(Key::kChannelsLast, IsChannelsLast(input) || IsChannelsLast(weight) ? 1 : 0);
  }
  return op;
}

// The gradient of a bias is the sum of the result's gradient over all but its channels.
Operator BiasGradient(const AtenTensor& gradient, DataType type) {
  Operator op(OperatorKind::kReduce, type);
  const std::int64_t pixels = Product(gradient.dims, 2, gradient.dims.size());
  op.Set(Key::kOuter, IsChannelsLast(gradient) ? 1 : gradient.dims[1]);
  op.Set(Key::kReduced, Times(gradient.dims[0], pixels));
  op.Set(Key::kInner, IsChannelsLast(gradient) ? gradient.dims[1] : 1);
  return op;
}

// The mask selects the gradients: of the input, the weight and the bias.
std::vector<Operator> Gradients(const AtenCall& call, const ConvolutionForm& form,
                                const Operator& base) {
  std::vector<std::int64_t> needed = call.IntegersAt(form.output_mask);
  needed.resize(3, 0);
  std::vector<Operator> operators;
  if (needed[0] != 0 || needed[1] != 0) {
    operators.push_back(base);
    operators.back().Set(Key::kPass, needed[1] == 0 ? "dgrad" : needed[0] == 0 ? "wgrad" : "bwd");
  }
  const AtenTensor* gradient = call.TensorAt(0);
  if (needed[2] != 0 && gradient != nullptr && gradient->dims.size() >= 3 && gradient->type) {
    operators.push_back(BiasGradient(*gradient, *gradient->type));
  }
  return operators;
}

MappedOperators MapConvolution(const AtenCall& call) {
  const ConvolutionForm* form = FindForm(PlainName(call.name));
  if (form == nullptr) {
    return std::nullopt;
  }
  const AtenTensor* input = call.TensorAt(form->input);
  const AtenTensor* weight = call.TensorAt(form->input + 1);
  if (input == nullptr || weight == nullptr || !input->type || call.IsTrueAt(form->transposed) ||
      input->dims.size() != weight->dims.size() ||
      (input->dims.size() != 3 && input->dims.size() != 4)) {
    return std::nullopt;
  }
  const Operator base = BaseOperator(call, *form, *input, *weight);
  return form->output_mask == kNowhere ? std::vector{base} : Gradients(call, *form, base);
}

constexpr auto kMappings = [] {
  std::array<Mapping, kForms.size()> mappings{};
  for (std::size_t i = 0; i < kForms.size(); ++i) {
    const bool only_passes_on = kForms[i].name == "convolution" ||
                                kForms[i].name == "_convolution" ||
                                kForms[i].name.starts_with("conv1d") || kForms[i].name == "conv2d";
    mappings[i] = {kForms[i].name, MapConvolution, only_passes_on};
  }
  return mappings;
}();

}  // namespace

std::span<const Mapping> ConvolutionMappings() {
  return kMappings;
}

}  // namespace orrery::kernel
