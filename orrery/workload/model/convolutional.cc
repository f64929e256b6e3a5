#include "orrery/workload/model/convolutional.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "orrery/kernel/operator.h"
#include "orrery/workload/model/model.h"

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

/// Writes a network down layer by layer; each layer reads what the one before it made. Branches
/// are written one after another, with `Continue` back to where they part.
class LayerBuilder {
 public:
  LayerBuilder(ImageShape image, kernel::DataType type) : image_(image), type_(type) {}

  [[nodiscard]] const ImageShape& image() const { return image_; }

  void Continue(const ImageShape& image) { image_ = image; }

  /// A convolution with a bias.
  void Conv(const ConvShape& shape) {
    ListedLayer& layer = AddLayer("conv");
    Convolve(shape, layer);
    layer.parameters.push_back(shape.channels);
    layer.forward.push_back(Elementwise("add", 1).Set(Key::kMode, "broadcast"));
    layer.backward.push_back(Operator(OperatorKind::kReduce, type_)
                                 .Set(Key::kOuter, 1)
                                 .Set(Key::kReduced, image_.height * image_.width)
                                 .Set(Key::kInner, image_.channels));
  }

  /// A convolution and batch normalisation, one layer.
  void ConvNorm(const ConvShape& shape) {
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

  void Relu() {
    ListedLayer& layer = AddLayer("relu");
    layer.forward = {Elementwise("relu", 1)};
    layer.backward = {Elementwise("relu_backward", 2)};
    layer.output_elements = image_.elements();
  }

  /// The sum of two branches.
  void Add() {
    ListedLayer& layer = AddLayer("add");
    layer.forward = {Elementwise("add", 2)};
    layer.backward = {Elementwise("add", 2)};
    layer.output_elements = image_.elements();
  }

  void Concat(std::int64_t parts, std::int64_t channels) {
    image_.channels = channels;
    ListedLayer& layer = AddLayer("cat");
    layer.forward = {Operator(OperatorKind::kConcat, type_)
                         .Set(Key::kN, image_.elements())
                         .Set(Key::kParts, parts)
                         .Set(Key::kRun, std::max<std::int64_t>(image_.elements() / parts, 1))};
    layer.backward = {Elementwise("add", 2)};
    layer.output_elements = image_.elements();
  }

  void MaxPool(std::int64_t kernel, std::int64_t stride, std::int64_t pad) {
    Pool(OperatorKind::kMaxPool, kernel, stride, pad);
  }

  void AvgPool(std::int64_t kernel, std::int64_t stride, std::int64_t pad) {
    Pool(OperatorKind::kAvgPool, kernel, stride, pad);
  }

  void Linear(std::int64_t outputs) {
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

  void Dropout() {
    ListedLayer& layer = AddLayer("dropout");
    const Operator op = Operator(OperatorKind::kDropout, type_).Set(Key::kN, image_.elements());
    layer.forward = {op};
    layer.backward = {Backward(op)};
    layer.output_elements = image_.elements();
  }

  [[nodiscard]] LayerList Take() && { return std::move(list_); }

 private:
  ListedLayer& AddLayer(std::string_view kind) {
    list_.layers.push_back({.name = fmt::format("{} {}", kind, list_.layers.size())});
    return list_.layers.back();
  }

  // An operator pads both sides of both axes alike: a kernel of 1 × 7 reads an image that is wider
  // by what its padding adds.
  void Convolve(const ConvShape& shape, ListedLayer& layer) {
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

  void Pool(kernel::OperatorKind kind, std::int64_t kernel, std::int64_t stride, std::int64_t pad) {
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

  [[nodiscard]] kernel::Operator Elementwise(std::string_view function, int reads) const {
    const auto bytes = static_cast<std::int64_t>(kernel::ElementBytes(type_));
    return Operator(OperatorKind::kElementwise, type_)
        .Set(Key::kFunction, function)
        .Set(Key::kN, image_.elements())
        .Set(Key::kReadBytes, reads * bytes)
        .Set(Key::kWriteBytes, bytes);
  }

  ImageShape image_;
  kernel::DataType type_;
  LayerList list_;
};

constexpr std::int64_t kClasses = 1000;

void Square(LayerBuilder& net, std::int64_t channels, std::int64_t kernel) {
  net.Conv({.channels = channels, .height = kernel, .width = kernel});
  net.Relu();
}

void Hidden(LayerBuilder& net, std::int64_t outputs) {
  net.Linear(outputs);
  net.Relu();
  net.Dropout();
}

void Alexnet(LayerBuilder& net) {
  // Padded by 2 of both sides, which half of the kernel would not say.
  net.Continue({.channels = 3, .height = 228, .width = 228});
  net.Conv({.channels = 64, .height = 11, .width = 11, .stride = 4, .keeps_size = false});
  net.Relu();
  net.MaxPool(3, 2, 0);
  Square(net, 192, 5);
  net.MaxPool(3, 2, 0);
  Square(net, 384, 3);
  Square(net, 256, 3);
  Square(net, 256, 3);
  net.MaxPool(3, 2, 0);
  Hidden(net, 4096);
  Hidden(net, 4096);
  net.Linear(kClasses);
}

/// How wide a stage is, and how many convolutions or blocks it has.
using Stage = std::pair<std::int64_t, int>;

void Vgg(LayerBuilder& net, const std::array<Stage, 5>& stages) {
  for (const auto& [channels, convolutions] : stages) {
    for (int i = 0; i < convolutions; ++i) {
      Square(net, channels, 3);
    }
    net.MaxPool(2, 2, 0);
  }
  Hidden(net, 4096);
  Hidden(net, 4096);
  net.Linear(kClasses);
}

void Vgg16(LayerBuilder& net) {
  Vgg(net, {{{64, 2}, {128, 2}, {256, 3}, {512, 3}, {512, 3}}});
}

void Vgg19(LayerBuilder& net) {
  Vgg(net, {{{64, 2}, {128, 2}, {256, 4}, {512, 4}, {512, 4}}});
}

// 1×1, 3×3 with the stride, 1×1 to four times the width, and the way past them.
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

void Resnet(LayerBuilder& net, const std::array<Stage, 4>& stages) {
  net.ConvNorm({.channels = 64, .height = 7, .width = 7, .stride = 2});
  net.Relu();
  net.MaxPool(3, 2, 1);
  for (const auto& [width, blocks] : stages) {
    for (int block = 0; block < blocks; ++block) {
      const std::int64_t stride = block == 0 && width != 64 ? 2 : 1;
      Bottleneck(net, width, stride, block == 0);
    }
  }
  net.AvgPool(7, 1, 0);
  net.Linear(kClasses);
}

void Resnet50(LayerBuilder& net) {
  Resnet(net, {{{64, 3}, {128, 4}, {256, 6}, {512, 3}}});
}

void Resnet152(LayerBuilder& net) {
  Resnet(net, {{{64, 3}, {128, 8}, {256, 36}, {512, 3}}});
}

using Branch = std::initializer_list<ConvShape>;

void Chain(LayerBuilder& net, Branch shapes) {
  for (const ConvShape& shape : shapes) {
    net.ConvNorm(shape);
    net.Relu();
  }
}

// Branches of one input, whose results lie side by side.
class Joint {
 public:
  explicit Joint(LayerBuilder& net) : net_(net), input_(net.image()) {}

  void AddBranch(Branch shapes) {
    net_.Continue(input_);
    Chain(net_, shapes);
    Count();
  }

  void AddPooled(Branch shapes) {
    net_.Continue(input_);
    net_.AvgPool(3, 1, 1);
    Chain(net_, shapes);
    Count();
  }

  void AddReduced() {
    net_.Continue(input_);
    net_.MaxPool(3, 2, 0);
    Count();
  }

  /// Two convolutions that read the same end of a chain.
  void AddFork(Branch shapes, const ConvShape& left, const ConvShape& right) {
    net_.Continue(input_);
    Chain(net_, shapes);
    const ImageShape end = net_.image();
    Chain(net_, {left});
    Count();
    net_.Continue(end);
    Chain(net_, {right});
    Count();
  }

  void Join() { net_.Concat(parts_, channels_); }

 private:
  void Count() {
    channels_ += net_.image().channels;
    ++parts_;
  }

  LayerBuilder& net_;
  ImageShape input_;
  std::int64_t channels_ = 0;
  std::int64_t parts_ = 0;
};

ConvShape Of(std::int64_t channels, std::int64_t height, std::int64_t width) {
  return {.channels = channels, .height = height, .width = width};
}

ConvShape Reducing(std::int64_t channels) {
  return {.channels = channels, .height = 3, .width = 3, .stride = 2, .keeps_size = false};
}

void InceptionA(LayerBuilder& net, std::int64_t pooled) {
  Joint joint(net);
  joint.AddBranch({Of(64, 1, 1)});
  joint.AddBranch({Of(48, 1, 1), Of(64, 5, 5)});
  joint.AddBranch({Of(64, 1, 1), Of(96, 3, 3), Of(96, 3, 3)});
  joint.AddPooled({Of(pooled, 1, 1)});
  joint.Join();
}

void InceptionB(LayerBuilder& net) {
  Joint joint(net);
  joint.AddBranch({Reducing(384)});
  joint.AddBranch({Of(64, 1, 1), Of(96, 3, 3), Reducing(96)});
  joint.AddReduced();
  joint.Join();
}

void InceptionC(LayerBuilder& net, std::int64_t width) {
  Joint joint(net);
  joint.AddBranch({Of(192, 1, 1)});
  joint.AddBranch({Of(width, 1, 1), Of(width, 1, 7), Of(192, 7, 1)});
  joint.AddBranch(
      {Of(width, 1, 1), Of(width, 7, 1), Of(width, 1, 7), Of(width, 7, 1), Of(192, 1, 7)});
  joint.AddPooled({Of(192, 1, 1)});
  joint.Join();
}

void InceptionD(LayerBuilder& net) {
  Joint joint(net);
  joint.AddBranch({Of(192, 1, 1), Reducing(320)});
  joint.AddBranch({Of(192, 1, 1), Of(192, 1, 7), Of(192, 7, 1), Reducing(192)});
  joint.AddReduced();
  joint.Join();
}

void InceptionE(LayerBuilder& net) {
  Joint joint(net);
  joint.AddBranch({Of(320, 1, 1)});
  joint.AddFork({Of(384, 1, 1)}, Of(384, 1, 3), Of(384, 3, 1));
  joint.AddFork({Of(448, 1, 1), Of(384, 3, 3)}, Of(384, 1, 3), Of(384, 3, 1));
  joint.AddPooled({Of(192, 1, 1)});
  joint.Join();
}

void InceptionStem(LayerBuilder& net) {
  net.Continue({.channels = 3, .height = 299, .width = 299});
  const ConvShape unpadded = {.channels = 32, .height = 3, .width = 3, .keeps_size = false};
  Chain(net, {Reducing(32), unpadded, Of(64, 3, 3)});
  net.MaxPool(3, 2, 0);
  Chain(net, {Of(80, 1, 1), {.channels = 192, .height = 3, .width = 3, .keeps_size = false}});
  net.MaxPool(3, 2, 0);
}

void InceptionV3(LayerBuilder& net) {
  InceptionStem(net);
  for (const std::int64_t pooled : {32, 64, 64}) {
    InceptionA(net, pooled);
  }
  InceptionB(net);
  for (const std::int64_t width : {128, 160, 160, 192}) {
    InceptionC(net, width);
  }
  InceptionD(net);
  InceptionE(net);
  InceptionE(net);
  net.AvgPool(8, 1, 0);
  net.Dropout();
  net.Linear(kClasses);
}

constexpr std::array<std::pair<std::string_view, void (*)(LayerBuilder&)>, 6> kNetworks{{
    {"alexnet", Alexnet},
    {"inception_v3", InceptionV3},
    {"resnet50", Resnet50},
    {"resnet152", Resnet152},
    {"vgg16", Vgg16},
    {"vgg19", Vgg19},
}};

}  // namespace

Result<LayerList> ConvolutionalNetwork(std::string_view name, kernel::DataType type) {
  for (const auto& [known, write] : kNetworks) {
    if (known == name) {
      LayerBuilder net({.channels = 3, .height = 224, .width = 224}, type);
      write(net);
      return std::move(net).Take();
    }
  }
  return Fail(Error::Kind::kNotFound,
              fmt::format("'{}' is not a known convolutional network: choose one of {}",
                          name, fmt::join(ConvolutionalNetworks(), ", ")));
}

const std::vector<std::string_view>& ConvolutionalNetworks() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> list;
    for (const auto& [name, write] : kNetworks) {
      list.push_back(name);
    }
    return list;
  }();
  return names;
}

}  // namespace orrery::workload
