#include "orrery/workload/model/convolutional.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "orrery/base/data_type.h"
#include "orrery/base/error.h"
#include "orrery/kernel/operator.h"
#include "orrery/kernel/work.h"
#include "orrery/workload/input.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/model/operators.h"

namespace orrery::workload {
namespace {

using enum kernel::Key;
using kernel::Operator;
using kernel::OperatorKind;

constexpr std::int64_t Steps(std::int64_t size, std::int64_t kernel, std::int64_t stride) {
  return (size - kernel) / stride + 1;
}

/// An image of one sample between two layers.
struct ImageShape {
  std::int64_t channels = 3;
  std::int64_t height = 224;
  std::int64_t width = 224;

  [[nodiscard]] std::int64_t elements() const { return channels * height * width; }
};

struct ConvShape {
  std::int64_t channels = 0;  // of the result
  std::int64_t height = 1;    // of the kernel
  std::int64_t width = 1;
  std::int64_t stride = 1;
  bool keeps_size = true;  // padded by half of the kernel; else not at all
};

/// Writes a network layer by layer; each layer reads the output of the one before it. Branches are
/// written one after another, with `Continue` back to where they begin.
class LayerBuilder {
 public:
  explicit LayerBuilder(DataType type) : type_(type) {}

  [[nodiscard]] const ImageShape& image() const { return image_; }

  void Continue(const ImageShape& image) { image_ = image; }

  /// A convolution with a bias.
  void Conv(const ConvShape& shape) {
    ListedLayer& layer = Convolve(shape);
    layer.parameters.push_back(shape.channels);
    layer.forward.push_back(Map("add", 1).Set(kMode, "broadcast"));
    layer.backward.push_back(MakeOperator(
        OperatorKind::kReduce, type_,
        {{kOuter, 1}, {kReduced, image_.height * image_.width}, {kInner, image_.channels}}));
  }

  /// A convolution and batch normalisation, one layer.
  void ConvNorm(const ConvShape& shape) {
    ListedLayer& layer = Convolve(shape);
    Operator norm =
        MakeOperator(OperatorKind::kBatchNorm, type_,
                     {{kB, 1}, {kC, image_.channels}, {kPixels, image_.height * image_.width}});
    layer.forward.push_back(norm);
    layer.backward.insert(layer.backward.begin(), norm.Set(kPass, "bwd"));
    layer.parameters.insert(layer.parameters.end(), {image_.channels, image_.channels});
  }

  void Relu() { AddLayer("relu", Map("relu", 1), Map("relu_backward", 2)); }

  /// The sum of two branches.
  void Add() { AddLayer("add", Map("add", 2), Map("add", 2)); }

  void Concat(std::int64_t parts, std::int64_t channels) {
    image_.channels = channels;
    const std::int64_t n = image_.elements();
    const std::int64_t run = std::max<std::int64_t>(n / parts, 1);
    AddLayer("cat",
             MakeOperator(OperatorKind::kConcat, type_, {{kN, n}, {kParts, parts}, {kRun, run}}),
             Map("add", 2));
  }

  void Pool(OperatorKind kind, std::int64_t kernel, std::int64_t stride, std::int64_t pad) {
    const Operator op = MakeOperator(kind, type_,
                                     {{kB, 1},
                                      {kC, image_.channels},
                                      {kHeight, image_.height},
                                      {kWidth, image_.width},
                                      {kKernelHeight, kernel},
                                      {kStride, stride},
                                      {kPad, pad}});
    image_.height = Steps(image_.height + 2 * pad, kernel, stride);
    image_.width = Steps(image_.width + 2 * pad, kernel, stride);
    AddLayer("pool", op, Operator(op).Set(kPass, "bwd"));
  }

  void MaxPool(std::int64_t kernel, std::int64_t stride, std::int64_t pad) {
    Pool(OperatorKind::kMaxPool, kernel, stride, pad);
  }

  void AvgPool(std::int64_t kernel, std::int64_t stride, std::int64_t pad) {
    Pool(OperatorKind::kAvgPool, kernel, stride, pad);
  }

  void Linear(std::int64_t outputs) {
    const std::int64_t inputs = image_.elements();
    image_ = {.channels = outputs, .height = 1, .width = 1};
    ListedLayer& layer = AddLayer("linear", Gemm(1, outputs, inputs, "nt", type_).Set(kBias, 1),
                                  Gemm(1, inputs, outputs, "nn", type_));
    layer.backward.push_back(Gemm(outputs, inputs, 1, "tn", type_));
    layer.parameters = {inputs * outputs, outputs};
  }

  void Dropout() {
    const Operator op = MakeOperator(OperatorKind::kDropout, type_, {{kN, image_.elements()}});
    AddLayer("dropout", op, Operator(op).Set(kPass, "bwd"));
  }

  [[nodiscard]] LayerList Take() && { return std::move(list_); }

 private:
  ListedLayer& AddLayer(std::string_view kind, const Operator& forward, const Operator& backward) {
    list_.layers.push_back({.name = fmt::format("{} {}", kind, list_.layers.size()),
                            .forward = {forward},
                            .backward = {backward},
                            .output_elements = image_.elements()});
    return list_.layers.back();
  }

  // An operator pads both sides of both axes alike: a kernel of 1 × 7 reads an image that is wider
  // by its padding.
  ListedLayer& Convolve(const ConvShape& shape) {
    const bool is_square = shape.height == shape.width;
    const std::int64_t pad = shape.keeps_size && is_square ? shape.height / 2 : 0;
    const bool pads_image = shape.keeps_size && !is_square;
    const std::int64_t height = image_.height + (pads_image ? shape.height / 2 * 2 : 0);
    const std::int64_t width = image_.width + (pads_image ? shape.width / 2 * 2 : 0);
    const Operator op = MakeOperator(OperatorKind::kConv, type_,
                                     {{kB, 1},
                                      {kC, image_.channels},
                                      {kOutChannels, shape.channels},
                                      {kHeight, height},
                                      {kWidth, width},
                                      {kKernelHeight, shape.height},
                                      {kKernelWidth, shape.width},
                                      {kStride, shape.stride},
                                      {kPad, pad}});
    const std::int64_t weights = shape.channels * image_.channels * shape.height * shape.width;
    image_ = {.channels = shape.channels,
              .height = Steps(height + 2 * pad, shape.height, shape.stride),
              .width = Steps(width + 2 * pad, shape.width, shape.stride)};
    // Nothing needs the gradient of the image itself.
    const std::string_view pass = list_.layers.empty() ? "wgrad" : "bwd";
    ListedLayer& layer = AddLayer("conv", op, Operator(op).Set(kPass, pass));
    layer.parameters.push_back(weights);
    return layer;
  }

  [[nodiscard]] Operator Map(std::string_view function, int reads) const {
    const auto bytes = static_cast<std::int64_t>(ElementBytes(type_));
    return Elementwise(function, image_.elements(), reads * bytes, bytes, type_);
  }

  ImageShape image_;
  DataType type_;
  LayerList list_;
};

constexpr std::int64_t kClasses = 1000;

void Square(LayerBuilder& net, std::int64_t channels, std::int64_t kernel) {
  net.Conv({.channels = channels, .height = kernel, .width = kernel});
  net.Relu();
}

// Two hidden layers and the classes.
void Classify(LayerBuilder& net) {
  for (int i = 0; i < 2; ++i) {
    net.Linear(4096);
    net.Relu();
    net.Dropout();
  }
  net.Linear(kClasses);
}

void Alexnet(LayerBuilder& net) {
  // Padded by 2 on both sides, less than half of the kernel.
  net.Continue({.channels = 3, .height = 228, .width = 228});
  net.Conv({.channels = 64, .height = 11, .width = 11, .stride = 4, .keeps_size = false});
  net.Relu();
  net.MaxPool(3, 2, 0);
  Square(net, 192, 5);
  net.MaxPool(3, 2, 0);
  for (const std::int64_t channels : {384, 256, 256}) {
    Square(net, channels, 3);
  }
  net.MaxPool(3, 2, 0);
  Classify(net);
}

/// Channels of a stage, and its number of convolutions or blocks.
using Stages = std::initializer_list<std::pair<std::int64_t, int>>;

void Vgg(LayerBuilder& net, Stages stages) {
  for (const auto& [channels, convolutions] : stages) {
    for (int i = 0; i < convolutions; ++i) {
      Square(net, channels, 3);
    }
    net.MaxPool(2, 2, 0);
  }
  Classify(net);
}

// 1×1, 3×3 with the stride, 1×1 to four times the width, and the shortcut.
void Bottleneck(LayerBuilder& net, std::int64_t width, std::int64_t stride, bool projects) {
  const ImageShape input = net.image();
  net.ConvNorm({.channels = width});
  net.Relu();
  net.ConvNorm({.channels = width, .height = 3, .width = 3, .stride = stride});
  net.Relu();
  net.ConvNorm({.channels = 4 * width});
  if (projects) {
    net.Continue(input);
    net.ConvNorm({.channels = 4 * width, .stride = stride});
  }
  net.Add();
  net.Relu();
}

void Resnet(LayerBuilder& net, Stages stages) {
  net.ConvNorm({.channels = 64, .height = 7, .width = 7, .stride = 2});
  net.Relu();
  net.MaxPool(3, 2, 1);
  for (const auto& [width, blocks] : stages) {
    for (int block = 0; block < blocks; ++block) {
      Bottleneck(net, width, block == 0 && width != 64 ? 2 : 1, block == 0);
    }
  }
  net.AvgPool(7, 1, 0);
  net.Linear(kClasses);
}

using Chain = std::initializer_list<ConvShape>;

void Write(LayerBuilder& net, Chain shapes) {
  for (const ConvShape& shape : shapes) {
    net.ConvNorm(shape);
    net.Relu();
  }
}

/// A branch of an inception block: pooled or not, a chain, and convolutions that all read its end.
struct Branch {
  Chain chain;
  Chain fork = {};
  bool pools = false;
  bool reduces = false;
};

// Branches of one input, whose results are concatenated.
void Join(LayerBuilder& net, std::initializer_list<Branch> branches) {
  const ImageShape input = net.image();
  std::int64_t channels = 0;
  std::int64_t parts = 0;
  const auto count = [&] {
    channels += net.image().channels;
    ++parts;
  };
  for (const Branch& branch : branches) {
    net.Continue(input);
    if (branch.pools) {
      net.AvgPool(3, 1, 1);
    } else if (branch.reduces) {
      net.MaxPool(3, 2, 0);
    }
    Write(net, branch.chain);
    const ImageShape end = net.image();
    for (const ConvShape& shape : branch.fork) {
      net.Continue(end);
      Write(net, {shape});
      count();
    }
    if (branch.fork.size() == 0) {
      count();
    }
  }
  net.Concat(parts, channels);
}

ConvShape Of(std::int64_t channels, std::int64_t height, std::int64_t width) {
  return {.channels = channels, .height = height, .width = width};
}

ConvShape Unpadded(std::int64_t channels, std::int64_t stride) {
  return {.channels = channels, .height = 3, .width = 3, .stride = stride, .keeps_size = false};
}

void InceptionV3(LayerBuilder& net) {
  net.Continue({.channels = 3, .height = 299, .width = 299});
  Write(net, {Unpadded(32, 2), Unpadded(32, 1), Of(64, 3, 3)});
  net.MaxPool(3, 2, 0);
  Write(net, {Of(80, 1, 1), Unpadded(192, 1)});
  net.MaxPool(3, 2, 0);
  for (const std::int64_t pooled : {32, 64, 64}) {
    Join(net, {{.chain = {Of(64, 1, 1)}},
               {.chain = {Of(48, 1, 1), Of(64, 5, 5)}},
               {.chain = {Of(64, 1, 1), Of(96, 3, 3), Of(96, 3, 3)}},
               {.chain = {Of(pooled, 1, 1)}, .pools = true}});
  }
  Join(net, {{.chain = {Unpadded(384, 2)}},
             {.chain = {Of(64, 1, 1), Of(96, 3, 3), Unpadded(96, 2)}},
             {.chain = {}, .reduces = true}});
  for (const std::int64_t n : {128, 160, 160, 192}) {
    Join(net, {{.chain = {Of(192, 1, 1)}},
               {.chain = {Of(n, 1, 1), Of(n, 1, 7), Of(192, 7, 1)}},
               {.chain = {Of(n, 1, 1), Of(n, 7, 1), Of(n, 1, 7), Of(n, 7, 1), Of(192, 1, 7)}},
               {.chain = {Of(192, 1, 1)}, .pools = true}});
  }
  Join(net, {{.chain = {Of(192, 1, 1), Unpadded(320, 2)}},
             {.chain = {Of(192, 1, 1), Of(192, 1, 7), Of(192, 7, 1), Unpadded(192, 2)}},
             {.chain = {}, .reduces = true}});
  for (int i = 0; i < 2; ++i) {
    Join(net, {{.chain = {Of(320, 1, 1)}},
               {.chain = {Of(384, 1, 1)}, .fork = {Of(384, 1, 3), Of(384, 3, 1)}},
               {.chain = {Of(448, 1, 1), Of(384, 3, 3)}, .fork = {Of(384, 1, 3), Of(384, 3, 1)}},
               {.chain = {Of(192, 1, 1)}, .pools = true}});
  }
  net.AvgPool(8, 1, 0);
  net.Dropout();
  net.Linear(kClasses);
}

constexpr std::pair<std::string_view, void (*)(LayerBuilder&)> kNetworks[] = {
    {"alexnet", Alexnet},
    {"inception_v3", InceptionV3},
    {"resnet50", [](LayerBuilder& net) { Resnet(net, {{64, 3}, {128, 4}, {256, 6}, {512, 3}}); }},
    {"resnet152", [](LayerBuilder& net) { Resnet(net, {{64, 3}, {128, 8}, {256, 36}, {512, 3}}); }},
    {"vgg16",
     [](LayerBuilder& net) { Vgg(net, {{64, 2}, {128, 2}, {256, 3}, {512, 3}, {512, 3}}); }},
    {"vgg19",
     [](LayerBuilder& net) { Vgg(net, {{64, 2}, {128, 2}, {256, 4}, {512, 4}, {512, 4}}); }},
};

using kernel::Key;

// The first of these that a kind has is what grows with the batch.
constexpr Key kGrowing[] = {Key::kB,     Key::kBags, Key::kLookups, Key::kTokens,
                            Key::kOuter, Key::kRows, Key::kN};

std::optional<Key> GrowingSize(const kernel::Operator& op) {
  if (op.kind() == OperatorKind::kGemm) {
    return op.Word(Key::kLayout) == "tn" ? Key::kK : Key::kM;
  }
  if (op.kind() == OperatorKind::kGroupedGemm) {
    return Key::kM;
  }
  for (const Key key : kGrowing) {
    if (kernel::SchemaOf(op.kind()).IndexOf(key)) {
      return key;
    }
  }
  return std::nullopt;
}

std::vector<kernel::Operator> BackwardOf(const kernel::Operator& op) {
  if (op.kind() == OperatorKind::kGemm) {
    // Weights are n × k: the input's gradient, then the weights'.
    return {Gemm(op.Get(kM), op.Get(kK), op.Get(kN), "nn", op.type()),
            Gemm(op.Get(kN), op.Get(kK), op.Get(kM), "tn", op.type())};
  }
  kernel::Operator backward = op;
  if (kernel::SchemaOf(op.kind()).IndexOf(Key::kPass)) {
    backward.Set(Key::kPass, "bwd");
  }
  return {backward};
}

std::vector<std::int64_t> ParametersOfKind(const kernel::Operator& op) {
  switch (op.kind()) {
    case OperatorKind::kGemm:
      return {op.Get(Key::kN) * op.Get(Key::kK)};
    case OperatorKind::kConv:
      return {op.Get(Key::kOutChannels) * op.Get(Key::kC) / op.Get(Key::kGroups) *
              op.Get(Key::kKernelHeight) * op.Get(Key::kKernelWidth)};
    case OperatorKind::kEmbedding:
    case OperatorKind::kEmbeddingBag:
      return {op.Get(Key::kRows) * op.Get(Key::kDim)};
    case OperatorKind::kLayerNorm:
      return {op.Get(Key::kCols), op.Get(Key::kCols)};
    case OperatorKind::kRmsNorm:
      return {op.Get(Key::kCols)};
    case OperatorKind::kBatchNorm:
      return {op.Get(Key::kC), op.Get(Key::kC)};
    default:
      return {};
  }
}

}  // namespace

Result<LayerList> ConvolutionalNetwork(std::string_view name, DataType type) {
  std::vector<std::string_view> names;
  for (const auto& [known, write] : kNetworks) {
    if (known == name) {
      LayerBuilder net(type);
      write(net);
      return std::move(net).Take();
    }
    names.push_back(known);
  }
  return Fail(Error::Kind::kNotFound,
              fmt::format("'{}' is not a known convolutional network: choose one of {}", name,
                          fmt::join(names, ", ")));
}

ListedLayer LayerOf(const kernel::Operator& op) {
  return {
      .name = std::string(kernel::SchemaOf(op.kind()).name),
      .forward = {op},
      .backward = BackwardOf(op),
      .parameters = ParametersOfKind(op),
      // Every operator writes its result once, and nothing else.
      .output_elements = std::llround(kernel::WorkOf(op).write_bytes / ElementBytes(op.type()))};
}

Result<kernel::Operator> ForSamples(const kernel::Operator& op, std::int64_t samples) {
  const std::optional<Key> key = GrowingSize(op);
  if (!key) {
    return Unsupported("'{}' has no size that grows with the batch", kernel::Text(op));
  }
  kernel::Operator grown = op;
  grown.Set(*key, op.Get(*key) * samples);
  return grown;
}

}  // namespace orrery::workload
