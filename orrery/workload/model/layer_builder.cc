#include "orrery/workload/model/layer_builder.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

namespace orrery::workload {
namespace {

using kernel::Key;
using kernel::Operator;
using kernel::OperatorKind;

constexpr std::int64_t Steps(std::int64_t size, std::int64_t kernel, std::int64_t stride) {
  return (size - kernel) / stride + 1;
}

Operator Backward(Operator op) {
  return op.Set(Key::kPass, "bwd");
}

}  // namespace

ListedLayer& LayerBuilder::AddLayer(std::string_view kind) {
  list_.layers.push_back({.name = fmt::format("{} {}", kind, list_.layers.size())});
  return list_.layers.back();
}

// An operator pads both sides of both axes alike: a kernel of 1 × 7 reads an image that is wider
// by what its padding adds.
void LayerBuilder::Convolve(const ConvShape& shape, ListedLayer& layer) {
  const bool is_square = shape.height == shape.width;
  const std::int64_t pad = shape.keeps_size && is_square ? shape.height / 2 : 0;
  const std::int64_t more_height = shape.keeps_size && !is_square ? shape.height / 2 * 2 : 0;
  const std::int64_t more_width = shape.keeps_size && !is_square ? shape.width / 2 * 2 : 0;
  Operator op(OperatorKind::kConv, type_);
  op.Set(Key::kB, 1)
      .Set(Key::kC, image_.channels)
      .Set(Key::kOutChannels, shape.channels)
      .Set(Key::kHeight, image_.height + more_height)
      .Set(Key::kWidth, image_.width + more_width)
      .Set(Key::kKernelHeight, shape.height)
      .Set(Key::kKernelWidth, shape.width)
      .Set(Key::kStride, shape.stride)
      .Set(Key::kPad, pad);
  // Nothing asks for the gradient of the image itself.
  const bool is_first = list_.layers.size() == 1;
  layer.forward.push_back(op);
  layer.backward.push_back(Operator(op).Set(Key::kPass, is_first ? "wgrad" : "bwd"));
  layer.parameters.push_back(shape.channels * image_.channels * shape.height * shape.width);
  image_ = {.channels = shape.channels,
            .height = Steps(image_.height + more_height + 2 * pad, shape.height, shape.stride),
            .width = Steps(image_.width + more_width + 2 * pad, shape.width, shape.stride)};
  layer.output_elements = image_.elements();
}

void LayerBuilder::Conv(const ConvShape& shape) {
  ListedLayer& layer = AddLayer("conv");
  Convolve(shape, layer);
  layer.parameters.push_back(shape.channels);
  layer.forward.push_back(Elementwise("add", 1).Set(Key::kMode, "broadcast"));
  layer.backward.push_back(Operator(OperatorKind::kReduce, type_)
                               .Set(Key::kOuter, 1)
                               .Set(Key::kReduced, image_.height * image_.width)
                               .Set(Key::kInner, image_.channels));
}

void LayerBuilder::ConvNorm(const ConvShape& shape) {
  ListedLayer& layer = AddLayer("conv");
  Convolve(shape, layer);
  const Operator norm = Operator(OperatorKind::kBatchNorm, type_)
                            .Set(Key::kB, 1)
                            .Set(Key::kC, image_.channels)
                            .Set(Key::kPixels, image_.height * image_.width);
  layer.forward.push_back(norm);
  layer.backward.insert(layer.backward.begin(), Backward(norm));
  layer.parameters.insert(layer.parameters.end(), {image_.channels, image_.channels});
}

Operator LayerBuilder::Elementwise(std::string_view function, int reads) const {
  const auto bytes = static_cast<std::int64_t>(kernel::ElementBytes(type_));
  return Operator(OperatorKind::kElementwise, type_)
      .Set(Key::kFunction, function)
      .Set(Key::kN, image_.elements())
      .Set(Key::kReadBytes, reads * bytes)
      .Set(Key::kWriteBytes, bytes);
}

void LayerBuilder::Relu() {
  ListedLayer& layer = AddLayer("relu");
  layer.forward = {Elementwise("relu", 1)};
  layer.backward = {Elementwise("relu_backward", 2)};
  layer.output_elements = image_.elements();
}

// Backward both branches read the same gradient, and theirs are added where they part.
void LayerBuilder::Add() {
  ListedLayer& layer = AddLayer("add");
  layer.forward = {Elementwise("add", 2)};
  layer.backward = {Elementwise("add", 2)};
  layer.output_elements = image_.elements();
}

void LayerBuilder::Concat(std::int64_t parts, std::int64_t channels) {
  image_.channels = channels;
  ListedLayer& layer = AddLayer("cat");
  layer.forward = {Operator(OperatorKind::kConcat, type_)
                       .Set(Key::kN, image_.elements())
                       .Set(Key::kParts, parts)
                       .Set(Key::kRun, std::max<std::int64_t>(image_.elements() / parts, 1))};
  layer.backward = {Elementwise("add", 2)};
  layer.output_elements = image_.elements();
}

void LayerBuilder::Pool(OperatorKind kind, std::int64_t kernel, std::int64_t stride,
                        std::int64_t pad) {
  ListedLayer& layer = AddLayer("pool");
  const Operator op = Operator(kind, type_)
                          .Set(Key::kB, 1)
                          .Set(Key::kC, image_.channels)
                          .Set(Key::kHeight, image_.height)
                          .Set(Key::kWidth, image_.width)
                          .Set(Key::kKernelHeight, kernel)
                          .Set(Key::kStride, stride)
                          .Set(Key::kPad, pad);
  layer.forward = {op};
  layer.backward = {Backward(op)};
  image_.height = Steps(image_.height + 2 * pad, kernel, stride);
  image_.width = Steps(image_.width + 2 * pad, kernel, stride);
  layer.output_elements = image_.elements();
}

void LayerBuilder::MaxPool(std::int64_t kernel, std::int64_t stride, std::int64_t pad) {
  Pool(OperatorKind::kMaxPool, kernel, stride, pad);
}

void LayerBuilder::AvgPool(std::int64_t kernel, std::int64_t stride, std::int64_t pad) {
  Pool(OperatorKind::kAvgPool, kernel, stride, pad);
}

void LayerBuilder::Linear(std::int64_t outputs) {
  const std::int64_t inputs = image_.elements();
  ListedLayer& layer = AddLayer("linear");
  const auto product = [this](std::int64_t m, std::int64_t n, std::int64_t k,
                              std::string_view layout) {
    return Operator(OperatorKind::kGemm, type_)
        .Set(Key::kM, m)
        .Set(Key::kN, n)
        .Set(Key::kK, k)
        .Set(Key::kLayout, layout);
  };
  layer.forward = {product(1, outputs, inputs, "nt").Set(Key::kBias, 1)};
  layer.backward = {product(1, inputs, outputs, "nn"), product(outputs, inputs, 1, "tn")};
  layer.parameters = {inputs * outputs, outputs};
  image_ = {.channels = outputs, .height = 1, .width = 1};
  layer.output_elements = outputs;
}

void LayerBuilder::Dropout() {
  ListedLayer& layer = AddLayer("dropout");
  const Operator op = Operator(OperatorKind::kDropout, type_).Set(Key::kN, image_.elements());
  layer.forward = {op};
  layer.backward = {Backward(op)};
  layer.output_elements = image_.elements();
}

}  // namespace orrery::workload
