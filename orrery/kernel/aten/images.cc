// Convolutions over images (and over sequences, which the framework passes as images of height
// one), pooling and nearest upsampling.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "orrery/base/data_type.h"
#include "orrery/kernel/aten/aten.h"
#include "orrery/kernel/aten/mapping.h"
#include "orrery/kernel/operator.h"

namespace orrery::kernel {
namespace {

using enum Key;

constexpr std::size_t kNo = ~std::size_t{0};  // has no such argument

/// Positions of an operator's arguments.
struct ConvolutionForm {
  std::string_view name;
  std::size_t input = 0;
  std::size_t stride = kNo;
  std::size_t padding = kNo;
  std::size_t dilation = kNo;
  std::size_t groups = kNo;
  std::size_t transposed = kNo;
  std::size_t allow_tf32 = kNo;
  std::size_t output_mask = kNo;
  bool only_passes_on = false;
  std::size_t output_padding = kNo;
};

constexpr std::string_view kTransposed = "cudnn_convolution_transpose";

constexpr auto kForms = std::to_array<ConvolutionForm>({
    {"cudnn_convolution", 0, 3, 2, 4, 5, kNo, 8},
    {"miopen_convolution", 0, 4, 3, 5, 6},
    {"_conv_depthwise2d", 0, 4, 5, 6},
    {kTransposed, 0, 4, 2, 5, 6, kNo, 9, kNo, false, 3},
    {"convolution", 0, 3, 4, 5, 8, 6, kNo, kNo, true, 7},
    {"_convolution", 0, 3, 4, 5, 8, 6, 12, kNo, true, 7},
    {"conv1d", 0, 3, 4, 5, 6, kNo, kNo, kNo, true},
    {"conv2d", 0, 3, 4, 5, 6, kNo, kNo, kNo, true},
    {"conv3d", 0, 3, 4, 5, 6, kNo, kNo, kNo, true},
    {"convolution_backward", 1, 4, 5, 6, 9, 7, kNo, 10, false, 8},
});

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

// A transposed convolution is the input gradient of the convolution that leads from its result to
// its input.
void Transpose(Operator& op, const AtenCall& call, const ConvolutionForm& form,
               const AtenTensor& weight) {
  op.Set(kOutChannels, op.Get(kC)).Set(kC, Times(weight.dims[1], op.Get(kGroups)));
  const auto grow = [&](Key size, Key kernel) {
    op.Set(size, (op.Get(size) - 1) * op.Get(kStride) - 2 * op.Get(kPad) +
                     op.Get(kDilation) * (op.Get(kernel) - 1) + 1 +
                     LastOf(call, form.output_padding, 0));
  };
  grow(kWidth, kKernelWidth);
  if (op.kind() == OperatorKind::kConv) {
    grow(kHeight, kKernelHeight);
  }
  op.Set(kPass, "dgrad");
}

Operator BaseOperator(const AtenCall& call, const ConvolutionForm& form, const AtenTensor& input,
                      const AtenTensor& weight) {
  const std::size_t width = input.dims.size() - 1;
  const bool is_image =
      input.dims.size() == 4 && (input.dims[2] != 1 || weight.dims[2] != 1 || input.dims[3] == 1);
  Operator op(is_image ? OperatorKind::kConv : OperatorKind::kConv1d,
              TypeOf(call, form, *input.type));
  op.Set(kB, input.dims[0]).Set(kC, input.dims[1]);
  op.Set(kOutChannels, weight.dims[0]);
  op.Set(kWidth, input.dims[width]).Set(kKernelWidth, weight.dims[width]);
  op.Set(kStride, LastOf(call, form.stride, 1)).Set(kPad, LastOf(call, form.padding, 0));
  op.Set(kDilation, LastOf(call, form.dilation, 1));
  op.Set(kGroups, GroupsOf(call, form, input, weight));
  if (is_image) {
    op.Set(kHeight, input.dims[2]).Set(kKernelHeight, weight.dims[2]);
    op.Set(kChannelsLast, IsChannelsLast(input) || IsChannelsLast(weight) ? 1 : 0);
  }
  return op;
}

// The gradient of a bias is the sum of the result's gradient over all but its channels.
Operator BiasGradient(const AtenTensor& gradient, DataType type) {
  Operator op(OperatorKind::kReduce, type);
  const std::int64_t pixels = Product(gradient.dims, 2, gradient.dims.size());
  op.Set(kOuter, IsChannelsLast(gradient) ? 1 : gradient.dims[1]);
  op.Set(kReduced, Times(gradient.dims[0], pixels));
  op.Set(kInner, IsChannelsLast(gradient) ? gradient.dims[1] : 1);
  return op;
}

// The mask selects the gradients: of the input, the weight and the bias. The gradient of the input
// of a transposed convolution is the convolution itself.
std::vector<Operator> Gradients(const AtenCall& call, const ConvolutionForm& form,
                                const Operator& base, bool is_transposed) {
  std::vector<std::int64_t> needed = call.IntegersAt(form.output_mask);
  needed.resize(3, 0);
  std::vector<Operator> operators;
  if (is_transposed && needed[0] != 0) {
    operators.push_back(Operator(base).Set(kPass, "fwd"));
    needed[0] = 0;
  }
  if (needed[0] != 0 || needed[1] != 0) {
    operators.push_back(base);
    operators.back().Set(kPass, needed[1] == 0 ? "dgrad" : needed[0] == 0 ? "wgrad" : "bwd");
  }
  const AtenTensor* gradient = call.TensorAt(0);
  if (needed[2] != 0 && gradient != nullptr && gradient->dims.size() >= 3 && gradient->type) {
    operators.push_back(BiasGradient(*gradient, *gradient->type));
  }
  return operators;
}

std::int64_t At(const std::vector<std::int64_t>& settings, std::size_t dim, std::int64_t otherwise) {
  return settings.empty() ? otherwise : settings[std::min(dim, settings.size() - 1)];
}

// A convolution over volumes as one over images with as many products: frames are images of the
// batch if windows are one frame deep; if they are nothing but deep, a frame is a row; else each
// frame of the result is an image with the channels of all frames of its window.
Operator VolumeOperator(const AtenCall& call, const ConvolutionForm& form, const AtenTensor& input,
                        const AtenTensor& weight) {
  const auto strides = call.IntegersAt(form.stride);
  const auto pads = call.IntegersAt(form.padding);
  const std::int64_t depth = weight.dims[2];
  const bool is_only_deep = weight.dims[3] == 1 && weight.dims[4] == 1 && depth > 1;
  const std::int64_t stride = std::max<std::int64_t>(At(strides, 0, 1), 1);
  const std::int64_t frames =
      std::max<std::int64_t>((input.dims[2] + 2 * At(pads, 0, 0) - depth) / stride + 1, 1);
  Operator op(OperatorKind::kConv, TypeOf(call, form, *input.type));
  op.Set(kOutChannels, weight.dims[0]);
  op.Set(kDilation, LastOf(call, form.dilation, 1));
  op.Set(kGroups, GroupsOf(call, form, input, weight));
  if (is_only_deep) {
    op.Set(kB, input.dims[0]).Set(kC, input.dims[1]);
    op.Set(kHeight, input.dims[2]).Set(kWidth, Times(input.dims[3], input.dims[4]));
    op.Set(kKernelHeight, depth).Set(kKernelWidth, 1);
    return op.Set(kStride, stride).Set(kPad, At(pads, 0, 0));
  }
  op.Set(kB, Times(input.dims[0], frames)).Set(kC, Times(input.dims[1], depth));
  op.Set(kHeight, input.dims[3]).Set(kWidth, input.dims[4]);
  op.Set(kKernelHeight, weight.dims[3]).Set(kKernelWidth, weight.dims[4]);
  return op.Set(kStride, LastOf(call, form.stride, 1)).Set(kPad, LastOf(call, form.padding, 0));
}

// The fast kernels address at most 32 places of a window. Depthwise convolutions have their own.
bool HasWideWindows(const Operator& op) {
  constexpr std::int64_t kWidest = 32;
  return op.kind() == OperatorKind::kConv1d && op.Get(kKernelWidth) > kWidest &&
         op.Get(kGroups) > 1 && op.Get(kGroups) < op.Get(kC);
}

MappedOperators MapConvolution(const AtenCall& call) {
  const ConvolutionForm* form =
      std::ranges::find(kForms, PlainName(call.name), &ConvolutionForm::name);
  const AtenTensor* input = call.TensorAt(form->input);
  const AtenTensor* weight = call.TensorAt(form->input + 1);
  if (input == nullptr || weight == nullptr || !input->type ||
      input->dims.size() != weight->dims.size() ||
      input->dims.size() < 3 || input->dims.size() > 5) {
    return std::nullopt;
  }
  Operator base = input->dims.size() == 5 ? VolumeOperator(call, *form, *input, *weight)
                                          : BaseOperator(call, *form, *input, *weight);
  const bool is_transposed = form->name == kTransposed || call.IsTrueAt(form->transposed);
  if (is_transposed) {
    Transpose(base, call, *form, *weight);
  }
  std::vector<Operator> operators = form->output_mask == kNo
                                        ? std::vector{base}
                                        : Gradients(call, *form, base, is_transposed);
  if (HasWideWindows(operators.front())) {
    return WideWindows(operators.front());
  }
  return operators;
}

constexpr auto kConvolutionMappings = [] {
  std::array<Mapping, kForms.size()> mappings{};
  for (std::size_t i = 0; i < kForms.size(); ++i) {
    mappings[i] = {kForms[i].name, MapConvolution, kForms[i].only_passes_on};
  }
  return mappings;
}();

std::int64_t FirstOf(const AtenCall& call, std::size_t position, std::int64_t otherwise) {
  const std::vector<std::int64_t> settings = call.IntegersAt(position);
  return settings.empty() ? otherwise : settings.front();
}

Operator OfImages(OperatorKind kind, const AtenTensor& images, bool is_backward) {
  Operator op(kind, *images.type);
  op.Set(kB, images.dims[0]).Set(kC, images.dims[1]);
  op.Set(kHeight, images.dims[2]).Set(kWidth, images.dims[3]);
  op.Set(kChannelsLast, IsChannelsLast(images) ? 1 : 0);
  return op.Set(kPass, is_backward ? "bwd" : "fwd");
}

// Window, stride and padding follow the images; without a stride windows are adjacent.
template <OperatorKind kKind, std::size_t kImagesAt>
MappedOperators MapPool(const AtenCall& call) {
  const AtenTensor* images = call.TensorAt(kImagesAt, 4);
  if (images == nullptr || !images->type) {
    return std::nullopt;
  }
  Operator op = OfImages(kKind, *images, kImagesAt == 1);
  const std::int64_t window = FirstOf(call, kImagesAt + 1, 1);
  op.Set(kKernelHeight, window).Set(kStride, FirstOf(call, kImagesAt + 2, window));
  return std::vector{op.Set(kPad, FirstOf(call, kImagesAt + 3, 0))};
}

// The window follows from the output size.
template <bool kIsBackward>
MappedOperators MapAdaptivePool(const AtenCall& call) {
  const AtenTensor* gradient = kIsBackward ? call.TensorAt(0, 4) : nullptr;
  const AtenTensor* images = call.TensorAt(kIsBackward ? 1 : 0, 4);
  const std::int64_t out_height = gradient != nullptr ? gradient->dims[2]
                                  : kIsBackward       ? 0
                                                      : FirstOf(call, 1, 1);
  if (images == nullptr || !images->type || out_height < 1) {
    return std::nullopt;
  }
  Operator op = OfImages(OperatorKind::kAvgPool, *images, kIsBackward);
  const std::int64_t window = std::max<std::int64_t>(images->dims[2] / out_height, 1);
  return std::vector{op.Set(kKernelHeight, window).Set(kStride, window)};
}

MappedOperators MapUpsample(const AtenCall& call) {
  const AtenTensor* images = call.TensorAt(0, 4);
  if (images == nullptr || !images->type || images->dims[2] < 1) {
    return std::nullopt;
  }
  const std::int64_t height = FirstOf(call, 1, images->dims[2]);
  return std::vector{OfImages(OperatorKind::kUpsample, *images, false)
                         .Set(kScale, std::max<std::int64_t>(height / images->dims[2], 1))};
}

// The third argument is the shape of the images before upsampling.
MappedOperators MapUpsampleBackward(const AtenCall& call) {
  const AtenTensor* gradient = call.TensorAt(0, 4);
  const std::vector<std::int64_t> shape = call.IntegersAt(2);
  if (gradient == nullptr || !gradient->type || shape.size() != 4 || shape[2] < 1) {
    return std::nullopt;
  }
  Operator op = OfImages(OperatorKind::kUpsample, *gradient, true);
  op.Set(kHeight, shape[2]).Set(kWidth, shape[3]);
  return std::vector{op.Set(kScale, std::max<std::int64_t>(gradient->dims[2] / shape[2], 1))};
}

constexpr auto kPoolingMappings = std::to_array<Mapping>({
    {"max_pool2d_with_indices", MapPool<OperatorKind::kMaxPool, 0>},
    {"max_pool2d_with_indices_backward", MapPool<OperatorKind::kMaxPool, 1>},
    {"avg_pool2d", MapPool<OperatorKind::kAvgPool, 0>},
    {"avg_pool2d_backward", MapPool<OperatorKind::kAvgPool, 1>},
    {"_adaptive_avg_pool2d", MapAdaptivePool<false>},
    {"_adaptive_avg_pool2d_backward", MapAdaptivePool<true>},
    {"upsample_nearest2d", MapUpsample},
    {"upsample_nearest2d_backward", MapUpsampleBackward},
});

}  // namespace

std::span<const Mapping> ConvolutionMappings() {
  return kConvolutionMappings;
}

std::span<const Mapping> PoolingMappings() {
  return kPoolingMappings;
}

}  // namespace orrery::kernel
