#include "orrery/workload/model/convolutional.h"

#include <array>
#include <initializer_list>
#include <string>
#include <utility>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "orrery/workload/model/layer_builder.h"

namespace orrery::workload {
namespace {

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
              fmt::format("'{}' is no convolutional network that is known here: take one of {}",
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
